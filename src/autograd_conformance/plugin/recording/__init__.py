"""The report of a run: its folder, its stream of records, and the summary at its end."""
