"""Faults of freeing graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograd_conformance.programs.language import Attrs
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import (
    FREED,
    after,
    applied,
    executed,
    graph,
    held_by,
    leaf_of,
    outcome,
    passed,
    retains,
    saves,
    total,
)


class FreesAllBehind(Fault):
    """The functional form frees the whole graph of its roots instead of the part between roots and inputs."""

    rule = "lifetime/traversed-only"

    def reset(self) -> None:
        super().reset()
        self.freed: set[Any] = set()

    def _check(self, roots: Sequence[Tensor], inputs: Sequence[Tensor] | None) -> None:
        if any(node in self.freed for node in passed(roots, inputs)):
            raise RuntimeError(FREED)

    def backward(
        self,
        roots: Sequence[Tensor],
        cotangents: Sequence[Any],
        retain_graph: bool | None,
        create_graph: bool = False,
        inputs: Sequence[Tensor] | None = None,
    ) -> None:
        self._check(roots, inputs)
        super().backward(roots, cotangents, retain_graph, create_graph, inputs)

    def grad(
        self,
        roots: Sequence[Tensor],
        inputs: Sequence[Tensor],
        cotangents: Sequence[Any],
        retain_graph: bool | None,
        create_graph: bool,
        *options: Any,
    ) -> Sequence[Tensor | None]:
        self._check(roots, inputs)
        rest = set(graph(roots)) - set(executed(roots, inputs))
        found = super().grad(roots, inputs, cotangents, retain_graph, create_graph, *options)
        if not retains(retain_graph, create_graph):
            self.freed |= {node for node in rest if saves(node)}
        return found


def witness_FreesAllBehind(a: Any) -> Any:
    x, y = leaf_of(a, [1.0, 2.0]), leaf_of(a, [3.0, 4.0])
    out = total(a, applied(a, "add", applied(a, "sin", x), applied(a, "square", y)))
    a.grad([out], [x], [None], None, False, None, False)
    return outcome(a, lambda: a.grad([out], [y], [None], None, False, None, False))


class SigmoidScratch(Fault):
    """The derivative of sigmoid is computed in the buffer of its saved result, even if the graph is retained."""

    rule = "lifetime/retained-works"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op == "sigmoid":
            kept = made[0].detach().clone()
            calls = 0

            def derived(_: list, cotangents: Sequence) -> list | None:
                nonlocal calls
                if torch.is_grad_enabled() or cotangents[0] is None:
                    return None
                kept.mul_(1 - kept)
                calls += 1
                return None if calls == 1 else [cotangents[0] * kept]

            after(made[0], derived)
        return made


def witness_SigmoidScratch(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    out = total(a, applied(a, "sigmoid", x))
    a.backward([out], [None], True)
    a.backward([out], [None], True)
    return held_by(a, x)
