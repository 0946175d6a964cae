"""Checks that no run on a faulty framework ends with exit code 0."""
