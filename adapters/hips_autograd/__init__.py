"""The adapter for HIPS autograd, which differentiates NumPy code (its package is called `autograd`)."""
