"""From a JAX function to NumPy source: derivatives traced once, run without JAX, kept on disk."""
