"""Pairs of related programs whose gradients must agree."""
