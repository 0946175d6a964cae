"""Custom functions, each with another feature of JAX: https://docs.jax.dev/en/latest/notebooks/Custom_derivative_rules_for_Python_code.html.

The scripts of failures contain them.
"""

import jax
import jax.numpy as jnp


def summed(g, x):
    """The gradient of an operand that was broadcast, from the gradient of the result."""
    more = g.ndim - x.ndim
    ones = tuple(k + more for k, size in enumerate(x.shape) if size == 1)
    return g.sum((*range(more), *ones)).reshape(x.shape).astype(x.dtype)


@jax.custom_vjp
def multiply(a, b):
    return a * b


def multiply_and_save(a, b):
    operands = a.value, b.value
    # Saves what the gradients that are needed take.
    return a.value * b.value, [pair if x.perturbed else None for x, pair in ((a, operands), (b, operands[::-1]))]


def multiply_back(saved, g):
    return tuple(None if pair is None else summed(g * pair[1], pair[0]) for pair in saved)


multiply.defvjp(multiply_and_save, multiply_back, symbolic_zeros=True)


@jax.custom_gradient
def add(a, b):
    return a + b, lambda g: (summed(g, a), summed(g, b))


@jax.custom_vjp
def exp(x):
    return jnp.exp(x)


def exp_and_save(x):
    y = jnp.exp(x)
    return y, y


def exp_back(y, g):
    return (g * y,)


exp.defvjp(exp_and_save, exp_back)


@jax.custom_jvp
def sin(x):
    return jnp.sin(x)


sin.defjvps(lambda tangent, result, x: tangent * jnp.cos(x))


@jax.custom_jvp
def tanh(x):
    return jnp.tanh(x)


@tanh.defjvp
def tanh_forward(operands, tangents):
    y = tanh(*operands)
    return y, (1 - y * y) * tangents[0]


def times(x, factor):
    return x * factor


def times_and_save(x, factor):
    return x * factor, None


def times_back(factor, saved, g):
    return (g * factor,)


scale = jax.custom_vjp(times, nondiff_argnums=(1,))
scale.defvjp(times_and_save, times_back)


@jax.custom_vjp
def square(x):
    return x * x


def square_and_save(x):
    return x * x, {"operand": x}


def square_back(saved, g):
    return (2 * g * saved["operand"],)


square.defvjp(square_and_save, square_back)


@jax.custom_vjp
def slogdet(a):
    return tuple(jnp.linalg.slogdet(a))


def slogdet_and_save(a):
    return slogdet(a), a


def slogdet_back(a, gradients):
    return (gradients[1][..., None, None] * jnp.linalg.inv(a).mT,)


slogdet.defvjp(slogdet_and_save, slogdet_back)


@jax.custom_vjp
def product(operands):
    return operands["a"] @ operands["b"]


def product_and_save(operands):
    return product(operands), operands


def product_back(saved, g):
    return ({"a": (g @ saved["b"].T).astype(saved["a"].dtype), "b": (saved["a"].T @ g).astype(saved["b"].dtype)},)


product.defvjp(product_and_save, product_back)
