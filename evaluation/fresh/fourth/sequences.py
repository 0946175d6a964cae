"""Faults that depend on what a program did before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, leaf_of, total, walked


class DefaultIsLastChoice(Fault):
    """A backward call without retain_graph uses the value of the last call that had one, whatever the graph."""

    rule = "sequences/history"

    def reset(self) -> None:
        super().reset()
        self.chosen: bool | None = None

    def backward(
        self, roots: Sequence[Tensor], cotangents: Sequence[Any], retain_graph: bool | None, *call: Any, **options: Any
    ) -> None:
        if retain_graph is not None:
            self.chosen = retain_graph
        super().backward(roots, cotangents, True if self.chosen else retain_graph, *call, **options)


def witness_DefaultIsLastChoice(a: Any) -> Any:
    x, y = leaf_of(a, [1.0]), leaf_of(a, [2.0])
    a.backward([applied(a, "square", x)], [None], True)
    out = total(a, applied(a, "square", y))
    return walked(a, out), walked(a, out)
