"""Programs and observations: their classes, their text and JSON forms, edits, and the capabilities they require."""
