"""JSON forms of what a server describes besides programs: its dialect and its limits."""
