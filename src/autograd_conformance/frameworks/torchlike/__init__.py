"""Frameworks with PyTorch's interface: the suite's own templates, with another module in the place of `torch`."""
