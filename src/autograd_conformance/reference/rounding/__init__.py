"""Bounds on rounding errors, estimated from runs with random perturbations."""
