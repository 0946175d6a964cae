"""Staging: JAX functions are traced once, translated to NumPy source that runs without JAX, and cached on disk."""
