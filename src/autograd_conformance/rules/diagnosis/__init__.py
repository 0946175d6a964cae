"""Diagnosis of wrong gradients: known faults of the graph and its state that would give the same numbers."""
