"""The kernels of the device, by kind; importing them registers them."""

from examples.device.kernels import (
    activations,
    binary,
    elementwise,
    indexing,
    losses,
    products,
    reductions,
    tensors,
)

__all__ = ["activations", "binary", "elementwise", "indexing", "losses", "products", "reductions", "tensors"]
