"""The adapter for PyTensor, the framework of symbolic arrays that PyMC uses."""
