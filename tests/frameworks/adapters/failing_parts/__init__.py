"""Plugins of pytest that make one part of the end of a run fail."""
