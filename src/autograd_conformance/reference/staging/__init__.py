"""Staging: JAX functions traced once, translated to NumPy source that runs without JAX, and cached on disk."""
