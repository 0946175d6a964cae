"""The adapter for MLX."""
