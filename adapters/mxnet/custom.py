"""Adapter for Apache MXNet with some ops as custom functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from autograd_conformance.adapters.mxnet import custom_functions
from autograd_conformance.adapters.mxnet.adapter import MXNet
from autograd_conformance.frameworks.running.custom_functions import with_functions

OPS: Mapping[str, str] = {
    "multiply": "Multiply()({0}, {1})",
    "exp": "Exp()({0})",
    "multiply_scalar": "Scale({scalar})({0})",
    "mm": "Product()({0}, {1})",
}
"""The templates of the ops that are custom functions."""


class MXNetCustom(MXNet):
    """Apache MXNet with some ops as custom functions, by `autograd.Function`."""

    name = "mxnet-custom"
    dialect = with_functions(MXNet.dialect, custom_functions, OPS)

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Returns MXNet without custom functions."""
        return {"without custom functions": MXNet}
