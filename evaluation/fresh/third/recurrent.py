"""Faults of recurrent modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, before, held_by, leaf_of, total


class SortedLastState(Fault):
    """The last state of a packed sequence stays in the order of decreasing lengths in which the steps run."""

    rule = "recurrent/packed"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Any) -> Sequence[Tensor]:
        out = super().apply(op, operands, attrs)
        lengths = dict(attrs).get("lengths") if op in ("nn_rnn", "nn_gru", "nn_lstm") else None
        if lengths and sorted(lengths, reverse=True) != list(lengths):
            order = torch.tensor(sorted(range(len(lengths)), key=lambda k: -lengths[k]))
            return [out[0], *(state.index_select(1, order) for state in out[1:])]
        return out


def _recurrent(a: Any, op: str, gates: int, layers: int, lengths: Any) -> tuple[Any, Any]:
    x = leaf_of(a, [[[1.0], [2.0]], [[-1.0], [0.5]]])
    made = []
    for _ in range(layers):
        made += [leaf_of(a, [[0.5]] * gates), leaf_of(a, [[0.25]] * gates)]
    attrs = {"batch_first": False, "layers": layers, "directions": 1, "state": False, "bias": False}
    return x, applied(a, op, x, *made, **attrs, lengths=lengths)


def witness_SortedLastState(a: Any) -> Any:
    _, out = _recurrent(a, "nn_gru", 3, 1, (1, 2))
    return a.read(out[1]).tolist()


class LowerCells(Fault):
    """Of the last cell states of a multi-layer LSTM, only the topmost layer's propagates its cotangent."""

    rule = "recurrent/gradient"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Any) -> Sequence[Tensor]:
        out = super().apply(op, operands, attrs)
        given = dict(attrs)
        if op == "nn_lstm" and given["layers"] > 1:
            top = torch.arange(out[2].shape[0]) >= out[2].shape[0] - given["directions"]
            before(out[2], lambda g: g * top.to(g.dtype).reshape(-1, *(1,) * (g.ndim - 1)))
        return out


def witness_LowerCells(a: Any) -> Any:
    x, out = _recurrent(a, "nn_lstm", 4, 2, None)
    a.backward([total(a, out[2])], [None], None)
    return held_by(a, x)
