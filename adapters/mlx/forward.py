"""Adapter for MLX in forward mode: https://ml-explore.github.io/mlx/build/html/python/_autosummary/mlx.core.jvp.html."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import mlx.core as mx
import numpy as np

from autograd_conformance.adapters.mlx.adapter import Mlx, listed
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.observations import Kind


def by_jvp(function: Callable, inputs: list, cotangents: list) -> list:
    """Returns the gradients of the inputs, as `mx.vjp` does, by one `mx.jvp` for each element of each input."""

    def gradient(k: int) -> mx.array:
        x, zeros = inputs[k], [mx.zeros_like(each) for each in inputs]
        elements = []
        for unit in mx.eye(x.size, dtype=x.dtype):
            tangents = [*zeros[:k], unit.reshape(x.shape), *zeros[k + 1 :]]
            pushed = mx.jvp(function, inputs, tangents)[1]
            elements.append(sum((c * t).sum() for c, t in zip(cotangents, pushed)))
        return mx.stack(elements).reshape(x.shape) if elements else mx.zeros_like(x)

    return [gradient(k) for k in range(len(inputs))]


class MlxJvp(Mlx):
    """MLX with gradients from `mx.jvp`, one derivative for each element of each input, multiplied by the cotangents."""

    name = "mlx-jvp"
    capabilities = Mlx.capabilities - {Capability.CREATE_GRAPH}
    """First order only: a third derivative of n elements would take n³ calls."""
    dialect = replace(
        Mlx.dialect,
        prelude=f"{Mlx.dialect.prelude}\nfrom collections.abc import Callable\n\n\n{inspect.getsource(by_jvp)}\n",
        vjp="by_jvp({function}, [{inputs}], [{cotangents}])",
    )

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Returns MLX with gradients in reverse mode."""
        return {"with mx.vjp": partial(Mlx, mx.default_device().type.name)}

    def vjp(
        self,
        function: Callable[..., tuple[mx.array, ...]],
        values: Sequence[mx.array],
        cotangents: Sequence[np.ndarray],
    ) -> Sequence[mx.array]:
        """Computes the gradients of all inputs in forward mode."""
        gradients: Sequence[mx.array] = by_jvp(listed(function), list(values), [mx.array(each) for each in cotangents])
        return gradients

    def classify(self, error: BaseException) -> Kind:
        """Returns the kind of an error by its message: ops without a rule for forward mode are missing."""
        text = str(error)
        return Kind.NO_KERNEL if "JVP" in text and "implemented" in text else super().classify(error)
