"""PyTorch with some ops and writes as custom functions, each with another feature of `torch.autograd.Function`.

Source: https://docs.pytorch.org/docs/stable/notes/extending.html.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from autograd_conformance.frameworks.pytorch.eager import TorchEager
from autograd_conformance.frameworks.pytorch.modes.compiled import AOT, EAGER
from autograd_conformance.frameworks.pytorch.modes.forward import source
from autograd_conformance.frameworks.pytorch.modes.regions import TorchRegions

# The classes below are printed in the scripts of failures. They need nothing but PyTorch.


class Multiply(torch.autograd.Function):
    """Saves the operands and computes the gradients that are needed."""

    @staticmethod
    def forward(ctx, a, b):  # type: ignore[no-untyped-def]
        ctx.operands = [(x.shape, x.dtype) for x in (a, b)]
        needs_a, needs_b = ctx.needs_input_grad
        ctx.save_for_backward(a if needs_b else None, b if needs_a else None)
        return a * b

    @staticmethod
    def backward(ctx, g):  # type: ignore[no-untyped-def]
        (shape_a, dtype_a), (shape_b, dtype_b) = ctx.operands
        a, b = ctx.saved_tensors
        of_a = (g * b).sum_to_size(shape_a).to(dtype_a) if ctx.needs_input_grad[0] else None
        of_b = (g * a).sum_to_size(shape_b).to(dtype_b) if ctx.needs_input_grad[1] else None
        return of_a, of_b


class Add(torch.autograd.Function):
    """Saves nothing, gets None in place of zeros, and passes its gradient on."""

    @staticmethod
    def forward(ctx, a, b):  # type: ignore[no-untyped-def]
        ctx.set_materialize_grads(False)
        ctx.operands = [(x.shape, x.dtype) for x in (a, b)]
        return a + b

    @staticmethod
    def backward(ctx, g):  # type: ignore[no-untyped-def]
        if g is None:
            return None, None
        return tuple(g.sum_to_size(shape).to(dtype) for shape, dtype in ctx.operands)


class Exp(torch.autograd.Function):
    """Saves its result, in a separate `setup_context`."""

    @staticmethod
    def forward(x):  # type: ignore[no-untyped-def]
        return torch.exp(x)

    @staticmethod
    def setup_context(ctx, inputs, output):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, g):  # type: ignore[no-untyped-def]
        (y,) = ctx.saved_tensors
        return g * y


class Sine(torch.autograd.Function):
    """Saves its operand, in a separate `setup_context`."""

    @staticmethod
    def forward(x):  # type: ignore[no-untyped-def]
        return torch.sin(x)

    @staticmethod
    def setup_context(ctx, inputs, output):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):  # type: ignore[no-untyped-def]
        (x,) = ctx.saved_tensors
        return g * torch.cos(x)


class SignAndLog(torch.autograd.Function):
    """Has two results, of which the first has no gradient: if the second is unused, it gets a gradient of zeros."""

    @staticmethod
    def forward(ctx, a):  # type: ignore[no-untyped-def]
        sign, log = torch.linalg.slogdet(a)
        ctx.save_for_backward(a)
        return sign, log

    @staticmethod
    def backward(ctx, g_of_sign, g):  # type: ignore[no-untyped-def]
        (a,) = ctx.saved_tensors
        return g[..., None, None] * torch.linalg.inv(a).mT


class Product(torch.autograd.Function):
    """Computes its gradients under autocast if its result was computed so."""

    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu")
    def forward(ctx, a, b):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, g):  # type: ignore[no-untyped-def]
        a, b = ctx.saved_tensors
        return g @ b.mT, a.mT @ g


class ExpInPlace(torch.autograd.Function):
    """Writes to its operand, and saves what it wrote."""

    @staticmethod
    def forward(ctx, x):  # type: ignore[no-untyped-def]
        ctx.mark_dirty(x)
        ctx.save_for_backward(x.exp_())
        return x

    @staticmethod
    def backward(ctx, g):  # type: ignore[no-untyped-def]
        (y,) = ctx.saved_tensors
        return g * y


class ScaleInPlace(torch.autograd.Function):
    """Writes to its operand, and has an argument that is no tensor."""

    @staticmethod
    def forward(ctx, x, factor):  # type: ignore[no-untyped-def]
        ctx.mark_dirty(x)
        ctx.factor = factor
        return x.mul_(factor)

    @staticmethod
    def backward(ctx, g):  # type: ignore[no-untyped-def]
        return g * ctx.factor, None


FUNCTIONS = (Multiply, Add, Exp, Sine, SignAndLog, Product, ExpInPlace, ScaleInPlace)

OPS: Mapping[str, str] = {
    "multiply": "Multiply.apply({0}, {1})",
    "add": "Add.apply({0}, {1})",
    "exp": "Exp.apply({0})",
    "sin": "Sine.apply({0})",
    "slogdet": "SignAndLog.apply({0})",
    "mm": "Product.apply({0}, {1})",
}
"""The templates of the ops that are custom functions."""

WRITES: Mapping[str, str] = {
    "exp_": "ExpInPlace.apply({0})",
    "mul_scalar_": "ScaleInPlace.apply({0}, {scalar})",
}
"""The templates of the writes that are custom functions."""


class TorchCustom(TorchEager):
    """Eager PyTorch with some ops and writes as custom functions."""

    name = "torch-custom"

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        dialect = self.dialect
        self.dialect = replace(
            dialect,
            prelude="\n\n\n".join((dialect.prelude, *map(source, FUNCTIONS))) + "\n",
            ops={**dialect.ops, **OPS},
            writes={**dialect.writes, **WRITES},
        )
        self.code = self.code.with_templates(OPS, WRITES, {each.__name__: each for each in FUNCTIONS})

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Returns eager PyTorch without custom functions."""
        return {"without custom functions": partial(TorchEager, self.requested_device)}


class TorchCompileCustom(TorchCustom, TorchRegions):
    """PyTorch that traces each region (a sequence of instructions) with its custom functions, and runs the trace."""

    layers = (EAGER,)
    name = "torch-compile-eager-custom"

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Returns eager PyTorch with and without custom functions."""
        device = self.requested_device
        return {"without torch.compile": partial(TorchCustom, device), "with neither": partial(TorchEager, device)}


class TorchCompileAotCustom(TorchCompileCustom):
    """PyTorch that compiles each region (a sequence of instructions) with its custom functions."""

    layers = (AOT,)
    name = "torch-compile-aot_eager-custom"
