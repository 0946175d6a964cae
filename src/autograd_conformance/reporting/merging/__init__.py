"""Several runs as one report, or side by side."""
