"""What strategies write programs with."""
