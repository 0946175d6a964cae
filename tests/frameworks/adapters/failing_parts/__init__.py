"""Pytest plugins that make one step at the end of a run fail."""
