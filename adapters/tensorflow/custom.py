"""Adapters for TensorFlow with some ops as custom functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from autograd_conformance.adapters.tensorflow import custom_functions
from autograd_conformance.adapters.tensorflow.adapter import TensorFlow, TensorFlowFunction
from autograd_conformance.frameworks.running.custom_functions import CALLS, with_functions


class TensorFlowCustom(TensorFlow):
    """TensorFlow with some ops as custom functions, by `tf.custom_gradient` and `tf.recompute_grad`."""

    name = "tensorflow-custom"
    dialect = with_functions(TensorFlow.dialect, custom_functions, CALLS)

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Returns TensorFlow without custom functions."""
        return {"without custom functions": TensorFlow}


class TensorFlowFunctionCustom(TensorFlowFunction):
    """TensorFlow with some ops as custom functions, where each call for gradients is traced as a graph."""

    name = "tensorflow-function-custom"
    dialect = with_functions(TensorFlowFunction.dialect, custom_functions, CALLS)

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Returns TensorFlow without staging, and TensorFlow without custom functions."""
        return {
            "without tf.function": TensorFlowCustom,
            "without custom functions": TensorFlowFunction,
            "with neither": TensorFlow,
        }
