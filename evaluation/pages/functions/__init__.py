"""The functions of PyTorch, JAX and MLX: those that the suite calls, and why it does not call the others."""
