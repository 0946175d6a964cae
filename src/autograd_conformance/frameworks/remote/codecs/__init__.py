"""JSON forms of a server's dialect and of its limits."""
