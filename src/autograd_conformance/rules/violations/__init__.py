"""Violations as data: what was observed, what the rules expected, and the first difference between the two."""
