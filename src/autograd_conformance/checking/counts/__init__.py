"""Counts of a run that every test adds to: records of tests, pair coverage, remarks for the adapter's author."""
