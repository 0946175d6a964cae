"""Faults of the gradients of single ops in special forms."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from autograd_conformance.programs.language import Attrs
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import after, alias, applied, before, held_by, leaf_of, total, vjp


class TraceStrides(Fault):
    """A trace's gradient steps through the flat matrix, columns + 1 at a time, to its end, also if the matrix has more
    rows than columns: PyTorch's former trace_backward.
    """

    rule = "gradients/op"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op == "trace" and made[0].grad_fn is not None:
            rows, columns = operands[0].shape
            mask = torch.zeros(rows * columns, dtype=operands[0].dtype)
            mask[torch.arange(0, rows * columns, columns + 1)] = 1
            after(made[0], lambda gradients, cotangents: [cotangents[0] * mask.reshape(rows, columns)])
        return made


def witness_TraceStrides(a: Any) -> Any:
    return vjp(a, "trace", [[[1.0], [2.0], [3.0]]])


class TileFromFront(Fault):
    """A tile's gradient matches the repeats with the first axes, though fewer repeats than axes belong to the last
    ones: HIPS autograd's gradient of `np.tile`.
    """

    rule = "gradients/op"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        repeats: Any = dict(attrs).get("dims", ())
        if op != "tile" or len(repeats) >= operands[0].dim() or not made[0].numel():
            return made

        def change(gradients: list, cotangents: Sequence) -> list:
            gradient = cotangents[0]
            for axis, repeat in enumerate(repeats):
                if gradient.shape[axis] % repeat:
                    raise RuntimeError("array split does not result in an equal division")
                gradient = sum(torch.tensor_split(gradient, repeat, axis))
            return [gradient.reshape(operands[0].shape)]

        if any(repeat != 1 for repeat in repeats):
            after(made[0], change)
        return made


def witness_TileFromFront(a: Any) -> Any:
    return vjp(a, "tile", [[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]], dims=(2,))


class CumprodDivides(Fault):
    """The gradient of a cumulative product divides by the operand, which may be zero: the first versions of PyTorch's
    and of TensorFlow's.
    """

    rule = "gradients/op"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op == "cumulative_prod" and made[0].numel():
            x, dim = operands[0], dict(attrs)["dim"]

            def change(gradients: list, cotangents: Sequence) -> list:
                weighted = cotangents[0] * torch.cumprod(x, dim)
                return [weighted.flip(dim).cumsum(dim).flip(dim) / x]

            after(made[0], change)
        return made


def witness_CumprodDivides(a: Any) -> Any:
    return vjp(a, "cumulative_prod", [[2.0, 0.0, 3.0]], dim=0)


class PoolReadsStorage(Fault):
    """A pooling that need not be recorded has a fast path, which takes its operand for contiguous."""

    rule = "gradients/forward"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        x = operands[0]
        fast = op == "max_pool1d" and not (torch.is_grad_enabled() and x.requires_grad) and not x.is_contiguous()
        if fast and x.storage_offset() + x.numel() <= x.untyped_storage().nbytes() // x.element_size():
            plain = torch.empty(x.shape, device="meta").stride()
            return super().apply(op, [torch.as_strided(x.detach(), x.shape, plain)], attrs)
        return super().apply(op, operands, attrs)


def witness_PoolReadsStorage(a: Any) -> Any:
    x = applied(a, "matrix_transpose", leaf_of(a, [[1.0, 5.0], [2.0, 4.0], [3.0, 6.0]], grad=False))
    return a.read(applied(a, "max_pool1d", x, kernel_size=2, stride=1, padding=0)).tolist()


class PermutesForth(Fault):
    """A permutation's gradient is permuted in the same way, not with the inverse permutation."""

    rule = "gradients/op"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op == "permute_dims" and operands[0].dim() > 2:
            dims, shape = dict(attrs)["dims"], operands[0].shape

            def change(gradients: list, cotangents: Sequence) -> list | None:
                gradient = cotangents[0].permute(dims)
                return [gradient] if gradient.shape == shape else None

            after(made[0], change)
        return made


def witness_PermutesForth(a: Any) -> Any:
    return vjp(a, "permute_dims", [np.arange(8.0).reshape(2, 2, 2).tolist()], dims=(1, 2, 0))


class PadFillsCropped(Fault):
    """A pad's gradient is a pad with opposite widths and the same value, so that cropped elements get the value."""

    rule = "gradients/op"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op == "pad":
            given: dict[str, Any] = dict(attrs)
            back = [-width for width in given["pad"]]
            after(made[0], lambda gradients, cotangents: [F.pad(cotangents[0], back, value=given["value"])])
        return made


def witness_PadFillsCropped(a: Any) -> Any:
    return vjp(a, "pad", [[1.0, 2.0, 3.0]], pad=(1, -1), value=1.5)


class SmoothsPerSample(Fault):
    """The mean of the smoothed part of a cross entropy is over the samples, not over all their positions."""

    rule = "gradients/forward"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        given: dict[str, Any] = dict(attrs)
        x = operands[0]
        smoothing = given.get("label_smoothing")
        if op != "cross_entropy" or not smoothing or given["reduction"] != "mean" or x.dim() < 3 or not x.numel():
            return super().apply(op, operands, attrs)
        given["label_smoothing"] = 0.0
        (sharp,) = super().apply(op, operands, tuple(given.items()))
        smooth = -torch.log_softmax(x, 1).mean(1).sum() / x.shape[0]
        return ((1 - smoothing) * sharp + smoothing * smooth,)


def witness_SmoothsPerSample(a: Any) -> Any:
    given: dict[str, Any] = {"target": ((0, 1), (1, 0)), "reduction": "mean", "label_smoothing": 0.25}
    return vjp(a, "cross_entropy", [np.arange(8.0).reshape(2, 2, 2).tolist()], **given)


class RepeatsReduceat(Fault):
    """The gradient of uneven repeats is NumPy's `add.reduceat`, which returns an element for an empty segment."""

    rule = "gradients/op"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        repeats: Any = dict(attrs).get("repeats")
        if op == "repeat_uneven" and 0 in repeats and made[0].numel():
            starts = [0, *accumulate(repeats)][:-1]
            empty = [i for i, n in enumerate(repeats) if n == 0 and starts[i] < sum(repeats)]

            def change(gradients: list, cotangents: Sequence) -> list:
                columns = list(gradients[0].unbind(-1))
                for i in empty:
                    columns[i] = cotangents[0][..., starts[i]]
                return [torch.stack(columns, -1)]

            after(made[0], change)
        return made


def witness_RepeatsReduceat(a: Any) -> Any:
    return vjp(a, "repeat_uneven", [[1.0, 2.0, 3.0]], repeats=(0, 2, 1), dim=-1)


class MeanNeedsDeviation(Fault):
    """The gradient of a deviation and mean together is zero if no gradient arrives at the deviation."""

    rule = "gradients/several-results"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op in ("std_mean", "var_mean"):
            after(made[0], lambda gradients, cotangents: None if cotangents[0] is not None else [None])
        return made


def witness_MeanNeedsDeviation(a: Any) -> Any:
    return vjp(a, "std_mean", [[1.0, 2.0, 4.0]], result=1, dim=(0,), keepdim=False, correction=1)


class SoftTargetsConstant(Fault):
    """A cross entropy with soft targets passes no gradient to the targets: TensorFlow's
    softmax_cross_entropy_with_logits before its second version.
    """

    rule = "gradients/op"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        if op == "cross_entropy_soft":
            return super().apply(op, [operands[0], alias(operands[1], torch.zeros_like)], attrs)
        return super().apply(op, operands, attrs)


def witness_SoftTargetsConstant(a: Any) -> Any:
    return vjp(a, "cross_entropy_soft", [[[1.0, 2.0]], [[0.25, 0.5]]], reduction="sum")


class RoundsCotangent(Fault):
    """A product of operands of two dtypes casts the cotangent to the narrower one for both gradients."""

    rule = "gradients/op"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op in ("multiply", "divide") and operands[0].dtype != operands[1].dtype:
            before(made[0], lambda g: g.to(torch.float32).to(g.dtype))
        return made


def witness_RoundsCotangent(a: Any) -> Any:
    x, y = leaf_of(a, [0.1, 0.2]), leaf_of(a, [3.0, 4.0], "float32")
    out = applied(a, "multiply", x, y)
    a.backward([total(a, applied(a, "exp", out))], [None], None)
    return held_by(a, x, y)
