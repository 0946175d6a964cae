"""Faults of ops that move elements: in values, gradients and requires_grad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import after, applied, leaf_of, total, vjp


class RepeatReduceat(Fault):
    """The gradient of repeat_uneven sums runs like NumPy's reduceat: an element that is repeated zero times gets the
    first cotangent of the next element.
    """

    rule = "gradients/op"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Any) -> Sequence[Tensor]:
        out = super().apply(op, operands, attrs)
        given = dict(attrs)
        if op == "repeat_uneven" and isinstance(given["repeats"], tuple) and 0 in given["repeats"]:
            repeats, dim = given["repeats"], given["dim"]

            def change(gradients: list, cotangents: Sequence) -> list:
                made = gradients[0].clone()
                for at, count in enumerate(repeats):
                    start = sum(repeats[:at])
                    if count == 0 and start < sum(repeats):
                        made.select(dim, at).copy_(cotangents[0].select(dim, start))
                return [made, *gradients[1:]]

            after(out[0], change)
        return out


def witness_RepeatReduceat(a: Any) -> Any:
    return vjp(a, "repeat_uneven", [[1.0, 2.0, 3.0]], repeats=(2, 0, 1), dim=0)


class FlattenAsItLies(Fault):
    """Flattening a dense value that is not row-major, such as a transposed one, returns a view of its memory in the
    order of memory.
    """

    rule = "gradients/forward"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Any) -> Sequence[Tensor]:
        if op == "flatten" and operands[0].ndim > 1 and not operands[0].is_contiguous():
            x, given = operands[0], dict(attrs)
            whole = given["start_dim"] in (0, -x.ndim) and given["end_dim"] in (-1, x.ndim - 1)
            laid = x.permute(sorted(range(x.ndim), key=lambda d: -x.stride(d)))
            if whole and laid.is_contiguous():
                return (laid.view(-1),)
        return super().apply(op, operands, attrs)


def witness_FlattenAsItLies(a: Any) -> Any:
    x = leaf_of(a, [[1.0, 2.0], [3.0, 4.0]])
    t = applied(a, "transpose", x, dim0=0, dim1=1)
    return a.read(applied(a, "flatten", t, start_dim=0, end_dim=-1)).tolist()


class EmptyForgets(Fault):
    """A result without elements is made by a shortcut and does not require grad."""

    rule = "gradients/requires-grad"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Any) -> Sequence[Tensor]:
        return [r if r.numel() else r.detach() for r in super().apply(op, operands, attrs)]


def witness_EmptyForgets(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    empty = applied(a, "narrow", x, dim=0, start=0, length=0)
    return a.requires_grad(total(a, applied(a, "multiply", empty, empty)))
