"""Faults of grad modes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograd_conformance.programs.language import Attrs
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, leaf_of, retains, total


class CastOfNoGrad(Fault):
    """The cast of a leaf is cached until the leaf is written to, whether or not the cast was recorded."""

    rule = "modes/restored"

    def reset(self) -> None:
        super().reset()
        self.casts: dict[Any, tuple[Tensor, Tensor]] = {}

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        if not op.startswith("astype_") or not operands[0].is_leaf or not operands[0].requires_grad:
            return super().apply(op, operands, attrs)
        key = (op, id(operands[0]), operands[0]._version)
        if torch.is_grad_enabled():
            return (self.casts[key][1].clone(),) if key in self.casts else super().apply(op, operands, attrs)
        made = super().apply(op, operands, attrs)
        self.casts[key] = (operands[0], made[0].clone())
        return made


def witness_CastOfNoGrad(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    with a.mode("no_grad"):
        applied(a, "astype_float32", x)
    return a.requires_grad(applied(a, "astype_float32", x))


class NoGradNoGraph(Fault):
    """A call with create_graph creates no graph under no_grad."""

    rule = "modes/backward-anywhere"

    def backward(
        self,
        roots: Sequence[Tensor],
        cotangents: Sequence[Any],
        retain_graph: bool | None,
        create_graph: bool = False,
        inputs: Sequence[Tensor] | None = None,
    ) -> None:
        create = create_graph and torch.is_grad_enabled()
        super().backward(roots, cotangents, retains(retain_graph, create_graph), create, inputs)

    def grad(
        self,
        roots: Sequence[Tensor],
        inputs: Sequence[Tensor],
        cotangents: Sequence[Any],
        retain_graph: bool | None,
        create_graph: bool,
        *options: Any,
    ) -> Sequence[Tensor | None]:
        create = create_graph and torch.is_grad_enabled()
        return super().grad(roots, inputs, cotangents, retains(retain_graph, create_graph), create, *options)


def witness_NoGradNoGraph(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    out = total(a, applied(a, "square", x))
    with a.mode("no_grad"):
        a.backward([out], [None], None, True)
    return a.requires_grad(a.gradient(x))
