"""Exit codes of runs on frameworks that are wrong: none of them may be 0."""
