"""Frameworks under test: the adapter's interface, the runner that drives it, and PyTorch's adapters."""
