"""Hypothesis strategies: tensors, programs, and the situations that rules are about. All are valid by construction."""
