"""JAX, un-jitted and jitted."""
