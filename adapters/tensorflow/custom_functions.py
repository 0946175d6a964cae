"""Custom functions, each with another feature of TensorFlow: https://www.tensorflow.org/api_docs/python/tf/custom_gradient.

The scripts of failures contain them.
"""

import tensorflow as tf


def summed(g, x):
    """The gradient of an operand that was broadcast, from the gradient of the result."""
    more = g.shape.rank - x.shape.rank
    ones = [k + more for k, size in enumerate(x.shape) if size == 1]
    return tf.reshape(tf.reduce_sum(g, [*range(more), *ones]), x.shape)


@tf.custom_gradient
def multiply(a, b):
    def back(g):
        return summed(g * b, a), summed(g * a, b)

    return tf.stop_gradient(a * b), back


@tf.custom_gradient
def add(a, b):
    return a + b, lambda g: (summed(g, a), summed(g, b))


@tf.custom_gradient
def exp(x):
    y = tf.exp(x)
    return y, lambda g: g * y


@tf.custom_gradient
def sin(x):
    def back(g):
        @tf.custom_gradient
        def cos(x):
            return tf.cos(x), lambda g: -g * sin(x)

        return g * cos(x)

    return tf.sin(x), back


@tf.recompute_grad
def tanh(x):
    return tf.tanh(x)


@tf.custom_gradient
def slogdet(a):
    def back(g_of_sign, g):
        return g[..., None, None] * tf.linalg.inv(a, adjoint=True)

    return (*tf.linalg.slogdet(a),), back


@tf.custom_gradient
def product(operands):
    a, b = operands["a"], operands["b"]

    def back(g):
        return {"a": tf.matmul(g, b, transpose_b=True), "b": tf.matmul(a, g, transpose_a=True)}

    return tf.matmul(a, b), back
