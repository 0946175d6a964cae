"""Pytest's side of the suite: options, tests, results, and the record of a run."""
