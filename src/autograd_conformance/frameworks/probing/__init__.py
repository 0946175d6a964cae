"""Checks of an adapter before the first program: its declarations, the smoke test, and the probe."""
