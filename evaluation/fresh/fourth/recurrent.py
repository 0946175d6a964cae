"""Faults of recurrent networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from autograd_conformance.programs.language import Attrs
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, leaf_of


class StateOfPadding(Fault):
    """The last state of a packed sequence is the state after its padding."""

    rule = "recurrent/packed"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op in ("nn_rnn", "nn_gru", "nn_lstm") and dict(attrs)["lengths"] is not None:
            padded = super().apply(op, operands, tuple((k, None if k == "lengths" else v) for k, v in attrs))
            return (made[0], *padded[1:])
        return made


def witness_StateOfPadding(a: Any) -> Any:
    x, bias = leaf_of(a, [[[1.0], [2.0]], [[3.0], [4.0]]]), leaf_of(a, [0.5, 0.25, 1.0])
    w, u = leaf_of(a, [[0.5], [1.0], [1.5]]), leaf_of(a, [[0.25], [0.75], [1.25]])
    given = {"batch_first": True, "layers": 1, "directions": 1, "state": False, "bias": True, "lengths": (2, 1)}
    return a.read(applied(a, "nn_gru", x, w, u, bias, bias, **given)[1]).tolist()
