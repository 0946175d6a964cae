"""Adapter for PaddlePaddle with some ops as custom functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from autograd_conformance.adapters.paddle import custom_functions
from autograd_conformance.adapters.paddle.adapter import Paddle
from autograd_conformance.frameworks.running.custom_functions import with_functions
from autograd_conformance.programs.capabilities import Capability

OPS: Mapping[str, str] = {
    "multiply": "Multiply.apply({0}, {1})",
    "add": "Add.apply({0}, {1})",
    "exp": "Exp.apply({0})",
    "sin": "Sine.apply({0})",
    "multiply_scalar": "Scale.apply({0}, {scalar})",
    "slogdet": "SignAndLog.apply({0})",
    "mm": "Product.apply(a={0}, b={1})",
}
"""The templates of the ops that are custom functions."""


class PaddleCustom(Paddle):
    """PaddlePaddle with some ops as custom functions, by `paddle.autograd.PyLayer`."""

    name = "paddle-custom"
    capabilities = frozenset(
        {
            Capability.FUNCTIONAL, Capability.COTANGENTS, Capability.MULTIPLE_ROOTS, Capability.RETAIN,
            Capability.FREES, Capability.UNUSED, Capability.CREATE_GRAPH, Capability.CONSTANTS,
            Capability.REQUIRES_GRAD, Capability.DETACH, Capability.MODES,
        }
    )  # fmt: skip
    """Those of `paddle.grad`. Not claimed: what takes `backward`. Two backward calls through one `PyLayer` end the
    process, even if the first one retains the graph.
    """
    dialect = with_functions(Paddle.dialect, custom_functions, OPS)

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Returns PaddlePaddle without custom functions."""
        return {"without custom functions": Paddle}
