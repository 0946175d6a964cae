"""Custom functions, each with another feature of `mx.custom_function`. The scripts of failures contain them.

Source: https://ml-explore.github.io/mlx/build/html/python/_autosummary/mlx.core.custom_function.html.
"""

import mlx.core as mx


def summed(g, x):
    """The gradient of an operand that was broadcast, from the gradient of the result."""
    more = g.ndim - x.ndim
    axes = [*range(more), *(k + more for k, size in enumerate(x.shape) if size == 1)]
    return (g.sum(axes) if axes else g).reshape(x.shape)


@mx.custom_function
def multiply(a, b):
    return a * b


@multiply.vjp
def multiply_back(operands, g, result):
    a, b = operands
    return summed(g * b, a), summed(g * a, b)


@mx.custom_function
def add(a, b):
    return mx.stop_gradient(a + b)


@add.vjp
def add_back(operands, g, result):
    a, b = operands
    return summed(g, a), summed(g, b)


@mx.custom_function
def exp(x):
    return mx.stop_gradient(mx.exp(x))


@exp.vjp
def exp_back(x, g, y):
    return g * y


@mx.custom_function
def sin(x):
    return mx.sin(x)


@sin.vjp
def sin_back(x, g, y):
    return g * cos(x)


@mx.custom_function
def cos(x):
    return mx.cos(x)


@cos.vjp
def cos_back(x, g, y):
    return -g * sin(x)


@mx.custom_function
def tanh(x):
    return mx.tanh(x)


@mx.custom_function
def slogdet(a):
    sign, log = mx.linalg.slogdet(a)
    return mx.stop_gradient(sign), mx.stop_gradient(log)


@slogdet.vjp
def slogdet_back(a, gradients, results):
    return gradients[1][..., None, None] * mx.linalg.inv(a, stream=mx.cpu).swapaxes(-1, -2)


@mx.custom_function
def product(operands):
    return operands["a"] @ operands["b"]


@product.vjp
def product_back(operands, g, result):
    return {"a": g @ operands["b"].T, "b": operands["a"].T @ g}
