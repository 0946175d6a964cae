"""Writes the report of a run: its folder, its file of records, and the last records, page and summary at its end."""
