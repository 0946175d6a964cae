"""Bisecting: the search, findings in files, and whole commands."""
