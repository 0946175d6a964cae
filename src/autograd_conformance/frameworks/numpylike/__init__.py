"""Functional frameworks with NumPy's interface: the ops by their NumPy names, and `vjp` or `grad` of functions."""
