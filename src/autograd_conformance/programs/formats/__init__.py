"""The text and JSON forms of programs, and the JSON form of observations."""
