"""Frameworks under test: the adapter interface, the runner that calls adapters, and the adapters for PyTorch."""
