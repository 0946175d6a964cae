"""Faults of in-place writes, versions and views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograd_conformance.programs.language import Attrs
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import after, applied, before, held_by, leaf_of, total, walked


class DetachedApart(Fault):
    """A detached value shares memory with its source but has a separate version, as PyTorch's `.data` has."""

    rule = "writes/error-or-recorded"

    def detach(self, value: Tensor) -> Tensor:
        return super().detach(value).data


def witness_DetachedApart(a: Any) -> Any:
    y = applied(a, "multiply_scalar", leaf_of(a, [1.0, 2.0]), scalar=2.0)
    out = total(a, applied(a, "square", y))
    a.write("mul_scalar_", a.detach(y), [], (("scalar", 3),))
    return walked(a, out)


class LerpWeightsResult(Fault):
    """An interpolation in place computes the gradient of its weight from the target as it is after the write."""

    rule = "writes/recorded"

    def write(self, op: str, target: Tensor, operands: Sequence[Tensor], attrs: Attrs) -> None:
        recorded = op == "lerp_" and torch.is_grad_enabled() and operands[1].requires_grad and not target.is_leaf
        if not recorded or operands[1].shape != target.shape or operands[0].dtype != target.dtype:
            super().write(op, target, operands, attrs)
            return
        end, weight = operands
        made = torch.lerp(target, end, weight.detach())
        target.copy_(made + (weight - weight.detach()) * (end - made).detach())


def witness_LerpWeightsResult(a: Any) -> Any:
    x, end, weight = leaf_of(a, [1.0, 2.0]), leaf_of(a, [3.0, 5.0]), leaf_of(a, [0.25, 0.75])
    y = applied(a, "multiply_scalar", x, scalar=2.0)
    a.write("lerp_", y, [end, weight], ())
    a.backward([total(a, y)], [None], None)
    return held_by(a, x, end, weight)


class LastIsFirst(Fault):
    """A recorded write to the last element along a dimension, selected with index -1, takes index 0 in the history of
    the base.
    """

    rule = "views/history"

    def reset(self) -> None:
        super().reset()
        self.lasts: list[tuple[Tensor, Tensor, Any]] = []

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op == "select" and dict(attrs)["index"] == -1:
            self.lasts.append((made[0], operands[0], dict(attrs)["dim"]))
        return made

    def write(self, op: str, target: Tensor, operands: Sequence[Tensor], attrs: Attrs) -> None:
        super().write(op, target, operands, attrs)
        for view, base, dim in self.lasts:
            node = base.grad_fn
            if view is target and target._base is base and node is not None and node.name().endswith("CopySlices"):
                places = list(range(base.shape[dim]))
                places[0], places[-1] = places[-1], places[0]
                order = torch.tensor(places)
                before(base, lambda g, dim=dim, order=order: g.index_select(dim, order))  # type: ignore[misc]
                after(
                    base,
                    lambda gradients, cotangents, dim=dim, order=order: [  # type: ignore[misc]
                        None if gradients[0] is None else gradients[0].index_select(dim, order),
                        *gradients[1:],
                    ],
                )


def witness_LastIsFirst(a: Any) -> Any:
    x, y = leaf_of(a, [1.0, 2.0, 3.0]), leaf_of(a, 5.0)
    base = applied(a, "multiply_scalar", x, scalar=2.0)
    a.write("copy_", applied(a, "select", base, dim=0, index=-1), [y], ())
    a.backward([base], [leaf_of(a, [1.0, 10.0, 100.0]).detach().numpy()], None)
    return held_by(a, x, y)


class FlipsNothing(Fault):
    """A flip along no dimension returns a view of its operand."""

    rule = "views/own-memory"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        if op == "flip" and not dict(attrs)["dims"]:
            return (operands[0].view_as(operands[0]),)
        return super().apply(op, operands, attrs)


def witness_FlipsNothing(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    return a.memory(applied(a, "flip", x, dims=())) == a.memory(x)
