"""Adapter for MLX with some ops as custom functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import mlx.core as mx

from autograd_conformance.adapters.mlx import custom_functions
from autograd_conformance.adapters.mlx.adapter import Mlx
from autograd_conformance.frameworks.running.custom_functions import with_functions

OPS: Mapping[str, str] = {
    "multiply": "multiply({0}, {1})",
    "add": "add({0}, {1})",
    "exp": "exp({0})",
    "sin": "sin({0})",
    "tanh": "tanh({0})",
    "slogdet": "slogdet({0})",
    "mm": "product({{'a': {0}, 'b': {1}}})",
}
"""The templates of the ops that are custom functions."""


class MlxCustom(Mlx):
    """MLX with some ops as custom functions, by `mx.custom_function`."""

    name = "mlx-custom"
    dialect = with_functions(Mlx.dialect, custom_functions, OPS)

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Returns MLX without custom functions."""
        return {"without custom functions": partial(Mlx, mx.default_device().type.name)}
