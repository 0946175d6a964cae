"""Adapter for HIPS autograd in forward mode, `make_jvp`: https://github.com/HIPS/autograd."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import autograd.numpy as anp
import numpy as np
from autograd import make_jvp

from autograd_conformance.adapters.hips_autograd.adapter import Array, HipsAutograd, traced
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.observations import Kind


def by_jvp(function: Callable, inputs: tuple, cotangents: tuple) -> list:
    """Returns the gradients of the inputs, as `make_vjp` does, by one derivative for each element of each input."""

    def gradient(k: int) -> anp.ndarray:
        x, elements = inputs[k], []
        for unit in anp.eye(anp.size(x), dtype=anp.result_type(x)):
            pushed = make_jvp(function, k)(*inputs)(anp.reshape(unit, anp.shape(x)))[1]
            pushed = pushed if len(cotangents) > 1 else (pushed,)
            elements.append(sum(anp.sum(c * t) for c, t in zip(cotangents, pushed)))
        made = anp.reshape(anp.array(elements), anp.shape(x)) if elements else anp.zeros_like(x)
        return made if made.dtype == x.dtype else made.astype(x.dtype)

    return [gradient(k) for k in range(len(inputs))]


class HipsAutogradJvp(HipsAutograd):
    """HIPS autograd with gradients from `make_jvp`, one derivative for each element of each input, multiplied by the
    cotangents.
    """

    name = "autograd-jvp"
    capabilities = HipsAutograd.capabilities - {Capability.CREATE_GRAPH}
    """First order only: a third derivative of n elements would take n³ calls."""
    dialect = replace(
        HipsAutograd.dialect,
        prelude=f"{HipsAutograd.dialect.prelude}\nimport autograd.numpy as anp\nfrom autograd import make_jvp\n"
        f"from collections.abc import Callable\n\n\n{inspect.getsource(by_jvp)}\n",
        vjp="by_jvp({function}, ({inputs},), ({cotangents},))",
    )

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Returns HIPS autograd with gradients in reverse mode."""
        return {"with make_vjp": HipsAutograd}

    def vjp(
        self, function: Callable[..., tuple[Array, ...]], values: Sequence[Array], cotangents: Sequence[np.ndarray]
    ) -> Sequence[Array]:
        """Computes the gradients of all inputs in forward mode."""
        gradients: Sequence[Array] = by_jvp(traced(function), tuple(values), tuple(cotangents))
        return gradients

    def classify(self, error: BaseException) -> Kind:
        """Returns the kind of an error: ops without a rule for forward mode are missing."""
        lacking = isinstance(error, NotImplementedError) and "JVP of" in str(error)
        return Kind.NO_KERNEL if lacking else super().classify(error)
