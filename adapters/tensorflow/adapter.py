"""Adapters for TensorFlow: https://www.tensorflow.org/api_docs/python/tf/GradientTape and .../tf/function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from autograd_conformance.adapters.tensorflow.dialect import OPS, dialect
from autograd_conformance.frameworks.running.functional import Functional
from autograd_conformance.frameworks.running.templates import Templates
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Attrs
from autograd_conformance.programs.observations import Kind

Tensor = Any
"""An eager tensor, or a symbolic one while a function is traced."""

NO_DERIVATIVE = ("gradient registry has no entry for", "No gradient defined for operation")
"""Parts of the messages of errors about ops without a derivative: of an eager op, and of an op in a graph."""


class TensorFlow(Functional):
    """Runs programs on eager TensorFlow: each call for gradients records a new tape and differentiates it once."""

    name = "tensorflow"
    version = tf.__version__
    variables = ("TF_", "XLA_")
    capabilities = frozenset(
        {
            Capability.FUNCTIONAL, Capability.COTANGENTS, Capability.MULTIPLE_ROOTS, Capability.CREATE_GRAPH,
            Capability.MATERIALIZES, Capability.DETACH,
        }
    )  # fmt: skip
    """Sources: the documentation of `tf.GradientTape` (`gradient` takes several targets with `output_gradients`, and
    nested tapes compute derivatives of higher order) and of `tf.stop_gradient`. Not claimed: a check of the shapes of
    `output_gradients`, which the documentation does not mention."""
    ops = frozenset(OPS)
    dtypes = ("float64", "float32")
    dialect = dialect("gradients({function}, [{inputs}], [{cotangents}])")

    def __init__(self, device: str = "cpu") -> None:
        if device != "cpu":
            raise ValueError("TensorFlow is tested on the CPU only")
        tf.config.set_visible_devices([], "GPU")
        self.templates = Templates.of(self.dialect)
        self.gradients = self.templates.scope["gradients"]

    def leaf(self, data: np.ndarray, requires_grad: bool) -> Tensor:
        """Returns a tensor from an array of its dtype."""
        return tf.constant(data)

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        """Returns all results of an op."""
        out = self.templates.op(op, attrs, len(operands))(*operands)
        return tuple(out) if isinstance(out, (tuple, list)) else (out,)

    def detach(self, value: Tensor) -> Tensor:
        """Calls `tf.stop_gradient`."""
        return tf.stop_gradient(value)

    def vjp(
        self,
        function: Callable[..., tuple[Tensor, ...]],
        values: Sequence[Tensor],
        cotangents: Sequence[np.ndarray],
    ) -> Sequence[Tensor]:
        """Calls `tf.GradientTape.gradient`, on a tape that recorded the function. Cotangents are copied."""
        return self.gradients(function, list(values), [tf.constant(each) for each in cotangents])

    def read(self, value: Tensor) -> np.ndarray:
        """Returns a copy of the elements."""
        return np.array(value)

    def dtype(self, value: Tensor) -> str:
        """Returns the name of the dtype."""
        return value.dtype.name

    def classify(self, error: BaseException) -> Kind:
        """Returns the kind of an error by its type and message: TensorFlow raises `LookupError` for an op without a
        derivative.
        """
        unsupported = isinstance(error, LookupError) and any(part in str(error) for part in NO_DERIVATIVE)
        return Kind.NOT_IMPLEMENTED if unsupported or isinstance(error, tf.errors.UnimplementedError) else Kind.UNKNOWN


class TensorFlowFunction(TensorFlow):
    """Runs programs on staged TensorFlow: each call for gradients is traced as a graph with its function and tape."""

    name = "tensorflow-function"
    dialect = dialect(
        "tf.function(lambda values, cotangents: gradients({function}, values, cotangents), autograph=False)"
        "([{inputs}], [{cotangents}])"
    )

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Returns TensorFlow without staging."""
        return {"without tf.function": TensorFlow}

    def vjp(
        self,
        function: Callable[..., tuple[Tensor, ...]],
        values: Sequence[Tensor],
        cotangents: Sequence[np.ndarray],
    ) -> Sequence[Tensor]:
        """Calls a `tf.function` of the values and cotangents; without AutoGraph, as programs have no control flow."""

        def pullback(values: list[Tensor], cotangents: list[Tensor]) -> list[Tensor]:
            return self.gradients(function, values, cotangents)

        staged = tf.function(pullback, autograph=False)
        return staged(list(values), [tf.constant(each) for each in cotangents])
