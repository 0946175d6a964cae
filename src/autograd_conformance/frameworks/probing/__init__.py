"""What an adapter declares, and whether its framework has it: declarations, smoke test, probe."""
