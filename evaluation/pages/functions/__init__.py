"""Which functions of PyTorch, JAX and MLX the suite calls, and why it does not call the others."""
