"""Adapter for MLX with some ops as custom functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import mlx.core as mx

from autograd_conformance.adapters.mlx import custom_functions
from autograd_conformance.adapters.mlx.adapter import Mlx
from autograd_conformance.frameworks.running.custom_functions import CALLS, with_functions


class MlxCustom(Mlx):
    """MLX with some ops as custom functions, by `mx.custom_function`."""

    name = "mlx-custom"
    dialect = with_functions(Mlx.dialect, custom_functions, CALLS)

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Returns MLX without custom functions."""
        return {"without custom functions": partial(Mlx, mx.default_device().type.name)}
