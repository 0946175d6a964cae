"""The kernels of the device; importing this package registers all of them."""

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
