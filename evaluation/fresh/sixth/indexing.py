"""Faults of the gradients of ops that select, scatter and repeat elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograd_conformance.programs.language import Attrs
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import MATRIX, after, vjp


class ScatterKeepsOverwritten(Fault):
    """The gradient of scatter is that of scatter_add: the elements that were overwritten receive a gradient, too.
    Burn's scatter, #4064.
    """

    rule = "gradients/op"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)

        def change(gradients: list, cotangents: Sequence) -> list:
            return [None if gradients[0] is None else cotangents[0], *gradients[1:]]

        if op == "scatter":
            after(made[0], change)
        return made


def witness_ScatterKeepsOverwritten(a: Any) -> Any:
    return vjp(a, "scatter", [[1.0, 2.0, 3.0], [4.0, 5.0]], dim=0, index=(1, 0))


class NegativeIndexIsClamped(Fault):
    """The gradient of select_scatter at index -1 takes index 0 instead: it clamps indices that the op itself counts
    from the end. JAX's segment_sum, #7538, had the reverse of this.
    """

    rule = "gradients/op"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)

        def change(gradients: list, cotangents: Sequence) -> list:
            (cotangent,) = cotangents
            rest = torch.select_scatter(cotangent, torch.zeros_like(cotangent[0]), 0, 0)
            both = (rest, cotangent.select(0, 0))
            return [None if g is None else new for g, new in zip(gradients, both, strict=True)]

        if op == "select_scatter" and dict(attrs)["index"] < 0 and len(operands[0]) > 1:
            after(made[0], change)
        return made


def witness_NegativeIndexIsClamped(a: Any) -> Any:
    return vjp(a, "select_scatter", [MATRIX, [1.0, 2.0, 3.0]], index=-1)


class RepeatedZeroTimes(Fault):
    """The gradient of repeating elements unevenly leaves out elements that are repeated zero times, so that the sums of
    later elements move to their places.
    """

    rule = "gradients/op"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        counts = [n for n in dict(attrs)["repeats"] if n] if op == "repeat_uneven" else []  # type: ignore[union-attr]
        if op != "repeat_uneven" or not counts or 0 not in dict(attrs)["repeats"]:  # type: ignore[operator]
            return made
        size = operands[0].shape[-1]

        def change(gradients: list, cotangents: Sequence) -> list:
            sums = [part.sum(-1) for part in cotangents[0].split(counts, dim=-1)]
            zeros = [torch.zeros_like(sums[0])] * (size - len(sums))
            return [torch.stack(sums + zeros, -1), *gradients[1:]]

        after(made[0], change)
        return made


def witness_RepeatedZeroTimes(a: Any) -> Any:
    return vjp(a, "repeat_uneven", [[1.0, 2.0, 3.0]], repeats=(0, 2, 1), dim=-1)


class WindowsOverwrite(Fault):
    """The gradient of unfold with windows that overlap writes each window's gradient over the previous one's, instead
    of adding it.
    """

    rule = "gradients/op"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op != "unfold":
            return made
        (x,), given = operands, dict(attrs)
        dim, size, step = given["dimension"], given["size"], given["step"]

        def change(gradients: list, cotangents: Sequence) -> list:
            (cotangent,) = cotangents
            out = torch.zeros(x.shape, dtype=x.dtype)
            for k in range(cotangent.shape[dim]):
                out.narrow(dim, k * step, size).copy_(cotangent.select(dim, k).movedim(-1, dim))
            return [out]

        if step < size:
            after(made[0], change)
        return made


def witness_WindowsOverwrite(a: Any) -> Any:
    return vjp(a, "unfold", [[1.0, 2.0, 3.0]], dimension=0, size=2, step=1)


class EmbeddingFixesPadding(Fault):
    """The gradient of the first row of an embedding is left out if other rows were looked up as well: row 0 counts as
    the padding, although no padding was given.
    """

    rule = "gradients/op"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)

        def change(gradients: list, cotangents: Sequence) -> list | None:
            (gradient,) = gradients
            others = bool((gradient[1:] != 0).any())
            return [torch.cat([torch.zeros_like(gradient[:1]), gradient[1:]])] if others else None

        if op == "embedding":
            after(made[0], change)
        return made


def witness_EmbeddingFixesPadding(a: Any) -> Any:
    return vjp(a, "embedding", [MATRIX], index=(1, 0))
