"""The adapters for JAX, un-jitted and jitted."""
