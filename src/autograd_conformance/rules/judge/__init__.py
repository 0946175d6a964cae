"""The comparison: what was observed against what the rules allow."""
