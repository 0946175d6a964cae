"""Explanations of a violation in English: why the failing line must behave otherwise, and how earlier lines matter."""
