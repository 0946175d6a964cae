"""Adapter for TensorFlow in forward mode: https://www.tensorflow.org/api_docs/python/tf/autodiff/ForwardAccumulator."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import tensorflow as tf

from autograd_conformance.adapters.tensorflow.adapter import TensorFlow
from autograd_conformance.programs.capabilities import Capability

IMPORT = "from collections.abc import Callable"
"""The import for the annotation of a function that a program is printed with."""


def by_jvp(function: Callable, inputs: list, cotangents: list) -> list:
    """Returns the gradients of the inputs, as a tape does, by one derivative for each element of each input."""

    def gradient(x: tf.Tensor) -> tf.Tensor:
        size, elements = x.shape.num_elements(), []
        for unit in tf.unstack(tf.eye(size, dtype=x.dtype), size):
            with tf.autodiff.ForwardAccumulator(x, tf.reshape(unit, x.shape)) as forward:
                results = tf.nest.flatten(function(*inputs))
            pushed = [forward.jvp(y, unconnected_gradients="zero") for y in results]
            products = [tf.reduce_sum(c * t) for c, t in zip(cotangents, pushed)]
            elements.append(sum(tf.cast(product, x.dtype) for product in products))
        return tf.reshape(tf.stack(elements), x.shape) if elements else tf.zeros_like(x)

    return [gradient(x) for x in inputs]


class TensorFlowForward(TensorFlow):
    """TensorFlow with gradients from `tf.autodiff.ForwardAccumulator`, one derivative for each element of each input,
    multiplied by the cotangents.
    """

    name = "tensorflow-forward"
    capabilities = TensorFlow.capabilities - {Capability.CREATE_GRAPH}
    """First order only: a third derivative of n elements would take n³ calls."""
    dialect = replace(
        TensorFlow.dialect,
        prelude=f"{TensorFlow.dialect.prelude}\n{IMPORT}\n\n\n{inspect.getsource(by_jvp)}\n",
        vjp="by_jvp({function}, [{inputs}], [{cotangents}])",
    )

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.gradients = by_jvp

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Returns TensorFlow with gradients in reverse mode."""
        return {"with tf.GradientTape": TensorFlow}
