"""Violations as data: what was observed, what was expected there, and the first difference between them."""
