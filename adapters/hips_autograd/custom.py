"""Adapter for HIPS autograd with some ops as custom functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from autograd_conformance.adapters.hips_autograd import custom_functions
from autograd_conformance.adapters.hips_autograd.adapter import HipsAutograd
from autograd_conformance.frameworks.running.custom_functions import with_functions

OPS: Mapping[str, str] = {
    "multiply": "multiply({0}, {1})",
    "add": "add({0}, {1})",
    "exp": "exp({0})",
    "sin": "sin({0})",
    "multiply_scalar": "scale({0}, {scalar})",
    "mm": "product({0}, {1})",
}
"""The templates of the ops that are custom functions."""


class HipsAutogradCustom(HipsAutograd):
    """HIPS autograd with some ops as custom functions, by `primitive`."""

    name = "autograd-custom"
    dialect = with_functions(HipsAutograd.dialect, custom_functions, OPS)

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Returns HIPS autograd without custom functions."""
        return {"without custom functions": HipsAutograd}
