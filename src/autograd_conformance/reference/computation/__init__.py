"""The parts of the reference: its tape, reverse accumulation, pullbacks, hooks, and the memory of values."""
