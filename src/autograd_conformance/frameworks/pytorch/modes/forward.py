"""PyTorch's ops under forward mode, `torch.func.jvp`: https://docs.pytorch.org/docs/stable/generated/torch.func.jvp.html.

A call for gradients is one derivative along each element of each input, multiplied by the cotangents. By the
definition of a derivative these numbers are those of reverse mode, so that the rules about gradients judge forward
mode, too. A gradient of a gradient is forward mode over forward mode.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch

from autograd_conformance.frameworks.pytorch.modes.functional import TorchFunc, shared
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.dtypes import usual
from autograd_conformance.programs.observations import Kind

# The functions below are printed in the scripts of failures. They need nothing but PyTorch.


def by_jvp(function, *inputs):  # type: ignore[no-untyped-def]
    """Returns the function from cotangents to gradients, as `torch.func.vjp` does, by one `jvp` for each element."""

    def along(k, direction):  # type: ignore[no-untyped-def]
        zeros = [torch.zeros(x.shape, dtype=x.dtype, device=x.device) for x in inputs]
        tangents = (*zeros[:k], direction, *zeros[k + 1 :])
        pushed = torch.func.jvp(function, inputs, tangents)[1]
        return pushed if isinstance(pushed, tuple) else (pushed,)

    def gradient(k, cotangents):  # type: ignore[no-untyped-def]
        x = inputs[k]
        unit = torch.eye(x.numel(), dtype=x.dtype, device=x.device).reshape(x.numel(), *x.shape)
        given = cotangents if isinstance(cotangents, tuple) else (cotangents,)
        elements = [sum((c * t).sum() for c, t in zip(given, along(k, each))).to(x.dtype) for each in unit]
        return torch.stack(elements).reshape(x.shape) if elements else torch.zeros_like(x)

    return lambda cotangents: tuple(gradient(k, cotangents) for k in range(len(inputs)))


def by_jacfwd(function, *inputs):  # type: ignore[no-untyped-def]
    """Returns the function from cotangents to gradients, as `torch.func.vjp` does, by the Jacobian of `jacfwd`."""

    def gradient(k, cotangents):  # type: ignore[no-untyped-def]
        x = inputs[k]
        given = cotangents if isinstance(cotangents, tuple) else (cotangents,)
        if not x.numel():
            return torch.zeros_like(x)
        jacobians = torch.func.jacfwd(function, argnums=k)(*inputs)
        jacobians = jacobians if isinstance(jacobians, tuple) else (jacobians,)
        terms = [torch.tensordot(c, j.to(c.dtype), dims=c.ndim) for c, j in zip(given, jacobians) if c.numel()]
        return sum(terms, torch.zeros(x.shape, dtype=x.dtype, device=x.device)).to(x.dtype)

    return lambda cotangents: tuple(gradient(k, cotangents) for k in range(len(inputs)))


def by_forward_over_reverse(function, *inputs, running=[]):  # type: ignore[no-untyped-def]  # noqa: B006
    """Returns the function from cotangents to gradients: by `jacfwd`, within a call by `torch.func.vjp`."""

    def gradients(cotangents):  # type: ignore[no-untyped-def]
        running.append(function)
        try:
            if len(running) == 1:
                return by_jacfwd(function, *inputs)(cotangents)
            return torch.func.vjp(function, *inputs)[1](cotangents)
        finally:
            running.pop()

    return gradients


def by_reverse_over_forward(function, *inputs, running=[]):  # type: ignore[no-untyped-def]  # noqa: B006
    """Returns the function from cotangents to gradients: by `torch.func.vjp`, within a call by `jacfwd`."""

    def gradients(cotangents):  # type: ignore[no-untyped-def]
        running.append(function)
        try:
            if len(running) == 1:
                return torch.func.vjp(function, *inputs)[1](cotangents)
            return by_jacfwd(function, *inputs)(cotangents)
        finally:
            running.pop()

    return gradients


class TorchJvp(TorchFunc):
    """PyTorch with gradients from `torch.func.jvp`, one derivative for each element of each input."""

    name = "torch-jvp"
    capabilities = TorchFunc.capabilities - {Capability.COTANGENT_CHECK, Capability.CREATE_GRAPH}
    """Forward mode has no cotangents that PyTorch could check. Gradients of gradients are left to `TorchJacfwd`: here,
    a third derivative of n elements takes n³ calls.
    """
    pulled: ClassVar[Callable[..., Any]] = staticmethod(by_jvp)
    """The function that takes the place of `torch.func.vjp`."""
    helpers: ClassVar[tuple[Callable[..., Any], ...]] = ()
    """The functions that this function calls."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.dtypes = usual(self.dtypes)  # the products with the cotangents are the adapter's
        dialect = self.dialect
        assert dialect is not None
        self.dialect = replace(
            dialect,
            prelude="\n\n\n".join((dialect.prelude, *map(source, (*self.helpers, self.pulled)))) + "\n",
            vjp=f"{self.pulled.__name__}({{function}}, {{inputs}})({{cotangent}})",
        )

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Returns PyTorch with gradients in reverse mode."""
        return {"with torch.func.vjp": partial(TorchFunc, self.eager.requested_device)}

    def vjp(
        self,
        function: Callable[..., tuple[torch.Tensor, ...]],
        values: Sequence[torch.Tensor],
        cotangents: Sequence[np.ndarray],
    ) -> Sequence[torch.Tensor]:
        """Computes the gradients of all inputs in forward mode."""
        given = tuple(shared(c.copy()).to(self.eager.device) for c in cotangents)
        found: Sequence[torch.Tensor] = self.pulled(function, *values)(given)
        return found

    def classify(self, error: BaseException) -> Kind:
        """Classify an error by its message; ops without a rule for forward mode say so."""
        lacking = "Trying to use forward AD with" in str(error)
        return Kind.NOT_IMPLEMENTED if lacking else super().classify(error)


class TorchJacfwd(TorchJvp):
    """PyTorch with gradients from `torch.func.jacfwd`, which computes the derivatives along all elements at once, as a
    batch of `torch.func.vmap`.
    """

    name = "torch-jacfwd"
    capabilities = TorchJvp.capabilities | {Capability.CREATE_GRAPH}
    pulled = staticmethod(by_jacfwd)


class TorchForwardOverReverse(TorchJacfwd):
    """PyTorch with gradients in forward mode, whose derivatives of higher order differentiate gradients in reverse
    mode, as `torch.func.hessian` does.
    """

    name = "torch-forward-over-reverse"
    pulled = staticmethod(by_forward_over_reverse)
    helpers = (by_jacfwd,)


class TorchReverseOverForward(TorchJacfwd):
    """PyTorch with gradients in reverse mode, whose derivatives of higher order differentiate gradients in forward
    mode.
    """

    name = "torch-reverse-over-forward"
    pulled = staticmethod(by_reverse_over_forward)
    helpers = (by_jacfwd,)


def source(function: Callable[..., Any]) -> str:
    """Returns the code of a function as scripts of failures print it."""
    return re.sub(r"  # (type|noqa): .*", "", inspect.getsource(function)).strip()
