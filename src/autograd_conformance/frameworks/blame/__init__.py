"""Finds out whether the framework or the adapter raised an exception, or that this cannot be determined."""
