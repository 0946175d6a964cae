"""Faults of modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograd_conformance.programs.language import Attrs
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import alias, applied, before, held_by, leaf_of, total

RECURRENT = ("nn_rnn", "nn_gru", "nn_lstm")
"""The recurrent modules."""


def _leaves(a: Any, *shapes: tuple[int, ...]) -> list[Any]:
    """Leaves with different elements."""
    return [leaf_of(a, np.sin(np.arange(np.prod(shape)) + i).reshape(shape)) for i, shape in enumerate(shapes)]


class CausalHidesPadding(Fault):
    """Attention that returns no weights takes a fast path for a causal mask, which ignores the padding: PyTorch 2.0's
    hint `is_causal` before masks were merged.
    """

    rule = "networks/module"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        given = dict(attrs)
        if op in ("nn_attention", "nn_transformer") and given["mask"] == "causal" and not given.get("need_weights"):
            given["padding"] = None
        return super().apply(op, operands, tuple(given.items()))


def witness_CausalHidesPadding(a: Any) -> Any:
    given = {"heads": 1, "bias": False, "batch_first": True, "memory": False, "mask": "causal", "need_weights": False}
    leaves = _leaves(a, (2, 3, 2), (6, 2), (2, 2))
    out = applied(a, "nn_attention", *leaves, **given, padding=((False, False, False), (False, True, False)))
    return a.read(out).tolist()


class CellUnsorted(Fault):
    """A packed batch is sorted by length together with the first hidden state, but not with the first cell state."""

    rule = "recurrent/packed"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        given = dict(attrs)
        if op == "nn_lstm" and given["state"] and given["lengths"]:
            order = torch.argsort(torch.tensor(given["lengths"]), descending=True, stable=True)
            cell = operands[2].index_select(1, torch.argsort(order))
            operands = [*operands[:2], cell, *operands[3:]]
        return super().apply(op, operands, attrs)


def witness_CellUnsorted(a: Any) -> Any:
    leaves = _leaves(a, (2, 3, 1), (1, 3, 1), (1, 3, 1), (4, 1), (4, 1))
    given = {"layers": 1, "directions": 1, "batch_first": False, "bias": False, "state": True, "lengths": (1, 2, 2)}
    return a.read(applied(a, "nn_lstm", *leaves, **given)[0]).tolist()


class ReverseReadsPadding(Fault):
    """The reverse direction of a layer starts at the end of the padding, not at the end of each sequence: Keras's
    Bidirectional with a mask, and others.
    """

    rule = "recurrent/packed"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        given = dict(attrs)
        if op not in RECURRENT or given["directions"] != 2 or given["layers"] != 1 or not given["lengths"]:
            return made
        given["lengths"] = None
        whole = super().apply(op, operands, tuple(given.items()))
        hidden, time = made[0].shape[-1] // 2, 1 if given["batch_first"] else 0
        steps = torch.arange(made[0].shape[time])
        lengths = torch.tensor(dict(attrs)["lengths"])
        inside = steps[:, None] < lengths[None, :]
        reverse = whole[0].narrow(time, 0, made[0].shape[time])[..., hidden:]
        reverse = torch.where((inside.T if time else inside)[..., None], reverse, torch.zeros_like(reverse))
        states = [torch.cat([one[:1], other[1:]]) for one, other in zip(made[1:], whole[1:], strict=True)]
        return (torch.cat([made[0][..., :hidden], reverse], -1), *states)


def witness_ReverseReadsPadding(a: Any) -> Any:
    leaves = _leaves(a, (3, 2, 1), (1, 1), (1, 1), (1, 1), (1, 1))
    given = {"layers": 1, "directions": 2, "batch_first": False, "bias": False, "state": False, "lengths": (3, 1)}
    return [a.read(made).tolist() for made in applied(a, "nn_rnn", *leaves, **given)]


class ScaleFromBatch(Fault):
    """In evaluation, the gradient of a batch normalisation's weight is computed with the statistics of the batch."""

    rule = "networks/gradient"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        if op != "nn_batch_norm_eval" or not dict(attrs)["affine"]:
            return super().apply(op, operands, attrs)
        x, mean, var, weight, bias = operands
        found: list[Tensor] = []

        def change(gradient: Tensor) -> Tensor:
            dims = [d for d in range(x.dim()) if d != 1]
            deviation, centre = torch.var_mean(x.detach(), dims, correction=0, keepdim=True)
            return (found[-1] * (x.detach() - centre) / torch.sqrt(deviation + 1e-5)).sum(dims)

        def seen(cotangent: Tensor) -> Tensor:
            found.append(cotangent)
            return cotangent

        made = super().apply(op, [x, mean, var, alias(weight, change), bias], attrs)
        before(made[0], seen)
        return made


def witness_ScaleFromBatch(a: Any) -> Any:
    x, weight, bias = _leaves(a, (4, 2), (2,), (2,))
    mean, var = leaf_of(a, [0.5, 0.25], grad=False), leaf_of(a, [1.0, 2.0], grad=False)
    out = applied(a, "nn_batch_norm_eval", x, mean, var, weight, bias, dimensions=1, affine=True)
    a.backward([total(a, applied(a, "square", out))], [None], None)
    return held_by(a, x, weight, bias)
