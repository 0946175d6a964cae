"""Writes the report of a run: its folder, its file of records, and at its end the last records, the page `report.md`
and the summary in the terminal.
"""
