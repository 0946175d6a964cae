"""Faults of grad modes and of changes of requires_grad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, graph, held_by, leaf_of, reached, total


class CopiedFlag(Fault):
    """Copying a value that requires grad into a constant leaf under no_grad makes the leaf require grad."""

    rule = "modes/unrecorded-write"

    def write(self, op: str, target: Tensor, operands: Sequence[Tensor], attrs: Any) -> None:
        super().write(op, target, operands, attrs)
        if op != "copy_" or torch.is_grad_enabled() or target.requires_grad or target._is_view():
            return
        if operands[0].requires_grad:
            super().set_requires_grad(target, True)


def witness_CopiedFlag(a: Any) -> Any:
    x, c = leaf_of(a, [1.0, 2.0]), leaf_of(a, [3.0, 4.0], grad=False)
    with a.mode("no_grad"):
        a.write("copy_", c, [x], ())
    return a.requires_grad(c)


class ThawedLeaf(Fault):
    """A leaf that was frozen and then made to require grad again gets no gradient through earlier graphs."""

    rule = "gradients/graph"

    def reset(self) -> None:
        super().reset()
        self.frozen: dict[int, tuple[Tensor, int]] = {}

    def set_requires_grad(self, value: Tensor, on: bool) -> None:
        was = value.requires_grad
        super().set_requires_grad(value, on)
        if was and not on:
            with torch.enable_grad():
                now = torch.zeros((), requires_grad=True).clone().grad_fn._sequence_nr()
            self.frozen[id(value)] = (value, now)

    def backward(
        self, roots: Any, cotangents: Any, retain_graph: Any, create_graph: bool = False, inputs: Any = None
    ) -> None:
        olds = []
        for leaf in reached(roots, inputs) if self.frozen else ():
            if id(leaf) in self.frozen and leaf.requires_grad:
                when = self.frozen[id(leaf)][1]
                users = [n for n in graph(roots) if any(getattr(m, "variable", 0) is leaf for m, _ in n.next_functions)]
                if users and all(n._sequence_nr() < when for n in users):
                    olds.append((leaf, leaf.grad, None if leaf.grad is None else leaf.grad.detach().clone()))
        super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        with torch.no_grad():
            for leaf, held, values in olds:
                if held is not None:
                    held.copy_(values)
                leaf.grad = held


def witness_ThawedLeaf(a: Any) -> Any:
    x, w = leaf_of(a, [1.0, 2.0]), leaf_of(a, [3.0, 4.0])
    y = total(a, applied(a, "multiply", x, w))
    a.set_requires_grad(w, False)
    a.set_requires_grad(w, True)
    a.backward([y], [None], None)
    return held_by(a, x, w)
