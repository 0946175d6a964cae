"""Custom functions of HIPS autograd, by `primitive`, `defvjp` and `defjvp`. The scripts of failures contain them.

Source: "Extend Autograd by defining your own primitives" in https://github.com/HIPS/autograd/blob/master/docs/tutorial.md.
"""

import autograd.numpy as np
from autograd.extend import defvjp, defvjp_argnums, primitive


def summed(g, shape, dtype):
    """The gradient of an operand that was broadcast, from the gradient of the result."""
    more = np.ndim(g) - len(shape)
    axes = (*range(more), *(k + more for k, size in enumerate(shape) if size == 1))
    return np.reshape(np.sum(g, axes), shape).astype(dtype)


@primitive
def multiply(a, b):
    return a * b


defvjp(
    multiply,
    lambda result, a, b: lambda g: summed(g * b, np.shape(a), np.result_type(a)),
    lambda result, a, b: lambda g: summed(g * a, np.shape(b), np.result_type(b)),
)


@primitive
def add(a, b):
    return a + b


def add_back(argnums, result, operands, options):
    kinds = [(np.shape(operands[k]), np.result_type(operands[k])) for k in argnums]
    return lambda g: tuple(summed(g, *kind) for kind in kinds)


defvjp_argnums(add, add_back)


@primitive
def exp(x):
    return np.exp(x)


defvjp(exp, lambda y, x: lambda g: g * y)


@primitive
def sin(x):
    return np.sin(x)


defvjp(sin, lambda y, x: lambda g: g * np.cos(x))


@primitive
def scale(x, factor):
    return x * factor


defvjp(scale, lambda y, x, factor: lambda g: g * factor, None)


@primitive
def product(a, b):
    return np.dot(a, b)


defvjp(
    product,
    lambda result, a, b: lambda g: np.dot(g, b.T).astype(a.dtype),
    lambda result, a, b: lambda g: np.dot(a.T, g).astype(b.dtype),
)
