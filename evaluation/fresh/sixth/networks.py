"""Faults of modules of layers, and of recurrent ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograd_conformance.programs.language import Attrs
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import Straight, alias, applied, held_by, leaf_of, total


def _some(a: Any, *shape: int) -> Any:
    """A leaf of small different values."""
    return leaf_of(a, (np.arange(np.prod(shape)) % 7 - 3.0).reshape(shape) / 4)


def _recurrent(a: Any, op: str, gates: int, layers: int, directions: int, lengths: Any = None) -> list:
    """Leaves for a recurrent module with 2 inputs, 2 units, 3 steps and a batch of 2, and the module's results."""
    starts = [_some(a, layers * directions, 2, 2) for _ in range(2 if op == "nn_lstm" else 1)]
    leaves = [_some(a, 3, 2, 2), *starts]
    for layer in range(layers):
        for _ in range(directions):
            inputs = 2 if layer == 0 else 2 * directions
            leaves += [_some(a, gates * 2, inputs), _some(a, gates * 2, 2), _some(a, gates * 2), _some(a, gates * 2)]
    given = {"layers": layers, "directions": directions, "batch_first": False, "bias": True, "state": True}
    return [leaves, a.apply(op, leaves, (*given.items(), ("lengths", lengths)))]


class MiddleLayerReadsOutput(Fault):
    """The gradient of the input weights of a GRU's second layer reads its inputs from a wrong place, one feature later:
    MXNet's GRU without DNNL, #18203.
    """

    rule = "recurrent/gradient"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        given = dict(attrs)
        if op == "nn_gru" and int(given["layers"]) > 1 and given["directions"] == 1:  # type: ignore[arg-type]
            place = 1 + bool(given["state"]) + (4 if given["bias"] else 2)
            changed = alias(operands[place], lambda gradient: gradient.roll(1, 1))
            operands = [*operands[:place], changed, *operands[place + 1 :]]
        return super().apply(op, operands, attrs)


def witness_MiddleLayerReadsOutput(a: Any) -> Any:
    leaves, made = _recurrent(a, "nn_gru", 3, 2, 1)
    a.backward([total(a, made[0])], [None], None)
    return held_by(a, *leaves)


class CellStateIsDropped(Fault):
    """The last cell state of an LSTM in both directions carries no gradient back: only the output and the last hidden
    state do.
    """

    rule = "recurrent/gradient"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op == "nn_lstm" and dict(attrs)["directions"] == 2:
            return (*made[:2], alias(made[2], torch.zeros_like))
        return made


def witness_CellStateIsDropped(a: Any) -> Any:
    leaves, made = _recurrent(a, "nn_lstm", 4, 1, 2)
    a.backward([total(a, applied(a, "multiply", made[1], made[2]))], [None], None)
    return held_by(a, *leaves)


class ShortSequencesForgetStart(Fault):
    """In a packed batch, the first state of the sequences that are shorter than the longest gets no gradient."""

    rule = "recurrent/packed"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        given = dict(attrs)
        if op in ("nn_rnn", "nn_gru") and given["lengths"] is not None and given["state"]:
            lengths = torch.tensor(given["lengths"])
            mask = (lengths == lengths.max()).unsqueeze(-1)
            operands = [operands[0], alias(operands[1], lambda gradient: gradient * mask), *operands[2:]]
        return super().apply(op, operands, attrs)


def witness_ShortSequencesForgetStart(a: Any) -> Any:
    leaves, made = _recurrent(a, "nn_rnn", 1, 1, 1, (3, 2))
    a.backward([total(a, made[0])], [None], None)
    return held_by(a, *leaves)


class WeightsOfAllHeads(Fault):
    """The gradient of the attention weights, which are the mean over the heads, reaches each head as if they were the
    sum.
    """

    rule = "networks/gradient"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        heads = dict(attrs).get("heads")
        if op == "nn_attention" and len(made) > 1:
            return (made[0], alias(made[1], lambda gradient: gradient * heads))
        return made


def witness_WeightsOfAllHeads(a: Any) -> Any:
    leaves = [_some(a, 2, 3, 2), _some(a, 2, 4, 2), _some(a, 6, 2), _some(a, 6), _some(a, 2, 2), _some(a, 2)]
    given = {"heads": 2, "bias": True, "batch_first": True, "memory": True, "mask": None, "padding": None}
    made = a.apply("nn_attention", leaves, (*given.items(), ("need_weights", True)))
    a.backward([total(a, applied(a, "square", made[1]))], [None], None)
    return held_by(a, *leaves)


class FrozenScaleStopsShift(Fault):
    """If the weight of a layer norm does not require grad, its bias receives no gradient either."""

    rule = "networks/gradient"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        if op in ("nn_layer_norm", "layer_norm_affine") and len(operands) == 3 and not operands[1].requires_grad:
            operands = [*operands[:2], alias(operands[2], torch.zeros_like)]
        return super().apply(op, operands, attrs)


def witness_FrozenScaleStopsShift(a: Any) -> Any:
    x, bias = _some(a, 2, 3), _some(a, 3)
    weight = leaf_of(a, [1.0, 2.0, 3.0], grad=False)
    out = applied(a, "layer_norm_affine", x, weight, bias, normalized_shape=(3,), eps=0.125)
    a.backward([total(a, applied(a, "square", out))], [None], None)
    return held_by(a, x, bias)


class WeightCopyIsStale(Fault):
    """A linear layer computes with a copy of its weight that writes renew, but optimizer steps do not."""

    rule = "training/loop"

    def reset(self) -> None:
        super().reset()
        self.copies: dict[int, tuple[Tensor, Tensor]] = {}

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        if op in ("linear", "linear_bias", "nn_linear") and operands[1].is_leaf and operands[1].requires_grad:
            weight = operands[1]
            _, copy = self.copies.setdefault(id(weight), (weight, weight.detach().clone()))
            operands = [operands[0], Straight.apply(weight, copy), *operands[2:]]
        return super().apply(op, operands, attrs)

    def write(self, op: str, target: Tensor, operands: Sequence[Tensor], attrs: Attrs) -> None:
        self.copies.clear()
        super().write(op, target, operands, attrs)


def witness_WeightCopyIsStale(a: Any) -> Any:
    x, weight = _some(a, 2, 3), _some(a, 2, 3)
    for _ in range(2):
        out = total(a, applied(a, "square", applied(a, "linear", x, weight)))
        a.backward([out], [None], None)
        a.step([weight], "sgd", (("lr", 0.125),))
    return held_by(a, x)
