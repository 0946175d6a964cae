"""Custom functions, each with another feature of `chainer.FunctionNode`. The scripts of failures contain them.

Source: https://docs.chainer.org/en/stable/guides/functions.html.
"""

import chainer
import chainer.functions as F
import numpy as np


class Multiply(chainer.FunctionNode):
    """Keeps both operands, and computes the gradients that are needed."""

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        return (np.asarray(inputs[0] * inputs[1]),)

    def backward(self, indexes, gradients):
        operands, (g,) = self.get_retained_inputs(), gradients
        return tuple(F.sum_to(g * operands[1 - k], operands[k].shape) for k in indexes)


class Exp(chainer.FunctionNode):
    """Keeps its result."""

    def forward(self, inputs):
        self.retain_outputs((0,))
        return (np.asarray(np.exp(inputs[0])),)

    def backward(self, indexes, gradients):
        (y,), (g,) = self.get_retained_outputs(), gradients
        return (g * y,)


class Sine(chainer.FunctionNode):
    """Keeps its operand."""

    def forward(self, inputs):
        self.retain_inputs((0,))
        return (np.asarray(np.sin(inputs[0])),)

    def backward(self, indexes, gradients):
        (x,), (g,) = self.get_retained_inputs(), gradients
        return (g * F.cos(x),)


class Scale(chainer.FunctionNode):
    """Has an argument of its constructor, and keeps nothing."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, inputs):
        return (np.asarray(inputs[0] * inputs[0].dtype.type(self.factor)),)

    def backward(self, indexes, gradients):
        return (gradients[0] * self.factor,)


class Tanh(chainer.Function):
    """Is a function of the older kind, whose gradient is an array, and has no further derivative."""

    def forward(self, inputs):
        self.retain_inputs(())
        self.y = np.asarray(np.tanh(inputs[0]))
        return (self.y,)

    def backward(self, inputs, gradients):
        return (np.asarray((1 - self.y * self.y) * gradients[0], self.y.dtype),)
