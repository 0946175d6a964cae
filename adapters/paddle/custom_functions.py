"""Custom functions, each with another feature of `paddle.autograd.PyLayer`. The scripts of failures contain them.

Source: https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/autograd/PyLayer_en.html.
"""

import paddle


def summed(g, shape, dtype):
    """The gradient of an operand that was broadcast, from the gradient of the result."""
    more = len(g.shape) - len(shape)
    axes = [*range(more), *(k + more for k, size in enumerate(shape) if size == 1)]
    return (g.sum(axes) if axes else g).reshape(shape).astype(dtype)


def needed(operands, gradients):
    """The gradients, with None for each operand that needs none, as PaddlePaddle requires."""
    return tuple(None if x.stop_gradient else g for x, g in zip(operands, gradients))


class Multiply(paddle.autograd.PyLayer):
    """Saves its operands."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensor()
        gradients = summed(g * b, a.shape, a.dtype), summed(g * a, b.shape, b.dtype)
        return needed((a, b), gradients)


class Add(paddle.autograd.PyLayer):
    """Keeps its operands as an attribute, and gets None in place of zeros."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.set_materialize_grads(False)
        ctx.operands = a, b
        return a + b

    @staticmethod
    def backward(ctx, g):
        return needed(ctx.operands, [summed(g, x.shape, x.dtype) for x in ctx.operands])


class Exp(paddle.autograd.PyLayer):
    """Saves its result."""

    @staticmethod
    def forward(ctx, x):
        y = paddle.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensor()
        return g * y


class Sine(paddle.autograd.PyLayer):
    """Saves its operand."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return paddle.sin(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensor()
        return g * paddle.cos(x)


class Scale(paddle.autograd.PyLayer):
    """Has an argument that is no tensor."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor


class SignAndLog(paddle.autograd.PyLayer):
    """Has two results, of which the first has no gradient: if the second is unused, it gets a gradient of zeros."""

    @staticmethod
    def forward(ctx, a):
        sign, log = paddle.linalg.slogdet(a)
        ctx.save_for_backward(a)
        return sign, log

    @staticmethod
    def backward(ctx, g_of_sign, g):
        (a,) = ctx.saved_tensor()
        return g[..., None, None] * paddle.linalg.inv(a).mT


class Product(paddle.autograd.PyLayer):
    """Gets its operands by name."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return paddle.mm(a, b)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensor()
        return needed((a, b), (paddle.mm(g, b.mT).astype(a.dtype), paddle.mm(a.mT, g).astype(b.dtype)))
