"""Faults of in-place writes and of the check that saved values are unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from autograd_conformance.programs.language import Attrs, Groups
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import WRITTEN, applied, held_by, leaf_of, passed, total, walked


class _Silu(torch.autograd.Function):
    """silu that saves its operand without its version counter."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.operand = x
        ctx.save_for_backward(x.data)
        return F.silu(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (data,) = ctx.saved_tensors
        x = ctx.operand if torch.is_grad_enabled() else data
        s = torch.sigmoid(x)
        return gradient * (s * (1 + x * (1 - s)))


class SiluSavesData(Fault):
    """silu saves its operand's `.data`, whose version counter is not the operand's."""

    rule = "writes/error-or-recorded"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        if op == "silu" and operands[0].requires_grad and torch.is_grad_enabled():
            return (_Silu.apply(operands[0]),)
        return super().apply(op, operands, attrs)


def witness_SiluSavesData(a: Any) -> Any:
    x = applied(a, "negative", leaf_of(a, [1.0, 2.0]))
    out = total(a, applied(a, "silu", x))
    a.write("mul_scalar_", x, [], (("scalar", 3),))
    return walked(a, out)


class StepsCutRange(Fault):
    """A recorded write to every other element of a range cuts the history of the whole range."""

    rule = "writes/recorded"

    def write(self, op: str, target: Tensor, operands: Sequence[Tensor], attrs: Attrs) -> None:
        given = dict(attrs)
        steps = op in ("set_steps_", "set_slice_") and given["step"] > 1 and torch.is_grad_enabled()
        if steps and target.requires_grad and not target.is_leaf and not target._is_view():
            span = slice(given["start"], given["stop"])
            where = span if op == "set_slice_" else (..., span)
            target[where] = target.detach().clone()[where]
        super().write(op, target, operands, attrs)


def witness_StepsCutRange(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0, 3.0])
    y = applied(a, "multiply_scalar", x, scalar=2.0)
    a.write("set_steps_", y, [leaf_of(a, 5.0)], (("start", 0), ("stop", 3), ("step", 2)))
    a.backward([total(a, y)], [None], None)
    return held_by(a, x)


class JoinChecksOperands(Fault):
    """A join saves its operands to know their sizes, and requires that they are unchanged."""

    rule = "writes/unsaved-works"

    def reset(self) -> None:
        super().reset()
        self.joined: dict[Any, list[tuple[Tensor, int]]] = {}

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op in ("concat", "concat_three") and made[0].grad_fn is not None:
            self.joined[made[0].grad_fn] = [(x, x._version) for x in operands]
        return made

    def _check(self, roots: Sequence[Tensor], inputs: Sequence[Tensor] | None) -> None:
        nodes = passed(roots, inputs) if all(r.requires_grad for r in roots) else []
        if any(x._version != version for node in nodes for x, version in self.joined.get(node, ())):
            raise RuntimeError(WRITTEN)

    def backward(self, roots: Sequence[Tensor], *call: Any, **options: Any) -> None:
        self._check(roots, options.get("inputs", call[3] if len(call) > 3 else None))
        super().backward(roots, *call, **options)

    def grad(self, roots: Sequence[Tensor], inputs: Sequence[Tensor], *call: Any) -> Sequence[Tensor | None]:
        self._check(roots, inputs)
        return super().grad(roots, inputs, *call)


def witness_JoinChecksOperands(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    y = applied(a, "negative", x)
    out = total(a, applied(a, "concat", y, y, dim=0))
    a.write("mul_scalar_", y, [], (("scalar", 3),))
    return walked(a, out)


class ForeachUnversioned(Fault):
    """The foreach implementation of a step does not change the leaves' versions."""

    rule = "writes/error-or-recorded"

    def step(self, leaves: Sequence[Tensor], optimizer: str, settings: Attrs, groups: Groups = ()) -> None:
        if not dict(settings).get("foreach"):
            super().step(leaves, optimizer, settings, groups)
            return
        with torch.autograd._unsafe_preserve_version_counter(tuple(leaves)):
            super().step(leaves, optimizer, settings, groups)


def witness_ForeachUnversioned(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    out = total(a, applied(a, "square", x))
    a.backward([out], [None], True)
    a.step([x], "sgd", (("lr", 0.5), ("foreach", True)))
    return walked(a, out)
