"""The adapter for NeuroGrad, a deep learning framework on NumPy and CuPy."""
