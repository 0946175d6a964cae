"""Adapter for Chainer with some ops as custom functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from autograd_conformance.adapters.chainer import custom_functions
from autograd_conformance.adapters.chainer.adapter import Chainer
from autograd_conformance.frameworks.running.custom_functions import with_functions

OPS: Mapping[str, str] = {
    "multiply": "Multiply().apply(({0}, {1}))[0]",
    "exp": "Exp().apply(({0},))[0]",
    "sin": "Sine().apply(({0},))[0]",
    "tanh": "Tanh()({0})",
    "multiply_scalar": "Scale({scalar}).apply(({0},))[0]",
}
"""The templates of the ops that are custom functions."""


class ChainerCustom(Chainer):
    """Chainer with some ops as custom functions, by `chainer.FunctionNode` and `chainer.Function`."""

    name = "chainer-custom"
    dialect = with_functions(Chainer.dialect, custom_functions, OPS)

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Returns Chainer without custom functions."""
        return {"without custom functions": Chainer}
