"""Custom functions of Apache MXNet, by `autograd.Function`. The scripts of failures contain them.

Source: https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/autograd/index.html#mxnet.autograd.Function. A
function gets and returns gradients as arrays of MXNet's older interface.
"""

import mxnet as mx
from mxnet import autograd, np


def summed(g, x):
    """The gradient of an operand that was broadcast, from the gradient of the result."""
    more = g.ndim - x.ndim
    axes = (*range(more), *(k + more for k, size in enumerate(x.shape) if size == 1))
    return (g.sum(axes) if axes else g).reshape(x.shape).astype(x.dtype).as_nd_ndarray()


@mx.util.use_np
class Multiply(autograd.Function):
    """Saves its operands."""

    def forward(self, a, b):
        self.save_for_backward(a, b)
        return a * b

    def backward(self, g):
        (a, b), g = self.saved_tensors, g.as_np_ndarray()
        return summed(g * b, a), summed(g * a, b)


@mx.util.use_np
class Exp(autograd.Function):
    """Saves its result."""

    def forward(self, x):
        y = np.exp(x)
        self.save_for_backward(y)
        return y

    def backward(self, g):
        (y,) = self.saved_tensors
        return (g.as_np_ndarray() * y).as_nd_ndarray()


@mx.util.use_np
class Scale(autograd.Function):
    """Has an argument of its constructor, and saves nothing."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return x * self.factor

    def backward(self, g):
        return g * self.factor


@mx.util.use_np
class Product(autograd.Function):
    """Saves its operands as an attribute."""

    def forward(self, a, b):
        self.operands = a, b
        return np.dot(a, b)

    def backward(self, g):
        (a, b), g = self.operands, g.as_np_ndarray()
        return summed(np.dot(g, b.T), a), summed(np.dot(a.T, g), b)
