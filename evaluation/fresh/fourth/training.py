"""Faults in training loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from autograd_conformance.programs.language import Attrs, Groups
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import Straight, applied, leaf_of, total


class PackedWeight(Fault):
    """A linear layer packs a weight on first use, and again after a write, but not after an optimizer's step."""

    rule = "training/loop"

    def reset(self) -> None:
        super().reset()
        self.packed: dict[int, tuple[Tensor, Tensor]] = {}

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        if op in ("linear", "linear_bias", "nn_linear") and operands[1].is_leaf and operands[1].requires_grad:
            x, w, *rest = operands
            _, packed = self.packed.setdefault(id(w), (w, w.detach().clone()))
            if not packed.equal(w):
                return super().apply(op, [x, Straight.apply(w, packed), *rest], attrs)
        return super().apply(op, operands, attrs)

    def write(self, *call: Any) -> None:
        super().write(*call)
        self.packed.clear()


def witness_PackedWeight(a: Any) -> Any:
    x, w = leaf_of(a, [[1.0, 2.0]], grad=False), leaf_of(a, [[1.0, 2.0]])
    for _ in range(2):
        out = applied(a, "linear", x, w)
        a.backward([total(a, out)], [None], None)
        a.step([w], "sgd", (("lr", 0.5),))
    return a.read(out).tolist()


class StateByPlace(Fault):
    """Optimizers of one kind with the same settings share state, by the position, shape and dtype of each leaf."""

    rule = "training/apart"

    def reset(self) -> None:
        super().reset()
        self.states: dict[Any, Any] = {}

    def step(self, leaves: Sequence[Tensor], optimizer: str, settings: Attrs, groups: Groups = ()) -> None:
        made = self.optimizer(leaves, optimizer, settings, groups)
        keys = [(optimizer, settings, groups, k, x.shape, x.dtype) for k, x in enumerate(leaves)]
        for key, leaf in zip(keys, leaves, strict=True):
            if key in self.states:
                made.state[leaf] = self.states[key]
        super().step(leaves, optimizer, settings, groups)
        for key, leaf in zip(keys, leaves, strict=True):
            if made.state.get(leaf):
                self.states[key] = made.state[leaf]


def witness_StateByPlace(a: Any) -> Any:
    x, y = leaf_of(a, [1.0]), leaf_of(a, [2.0])
    for leaf in (x, y):
        a.backward([total(a, applied(a, "square", leaf))], [None], None)
        a.step([leaf], "sgd", (("lr", 0.5), ("momentum", 0.5)))
    return a.read(x).tolist(), a.read(y).tolist()
