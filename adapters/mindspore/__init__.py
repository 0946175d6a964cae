"""The adapter for MindSpore."""
