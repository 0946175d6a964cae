"""Members whose lies depend on what the process did before: programs alone do not tell when they lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tests.zoo.kit import Combining, Given

Tensors = Sequence[torch.Tensor]


class WrongAfterTwenty(Combining):
    """The first twenty backward calls of the process are right; from then on contributions are doubled."""

    caught_by = ("accumulation/first", "accumulation/adds")
    calls = 0

    def combine(self, leaf: torch.Tensor, old: torch.Tensor | None, new: torch.Tensor | None) -> torch.Tensor | None:
        return super().combine(leaf, old, 2 * new if new is not None and self.calls > 20 else new)

    def backward(self, roots: Tensors, cotangents: Given, retain_graph: bool | None, **options: Any) -> None:
        self.calls += 1
        super().backward(roots, cotangents, retain_graph, **options)


class EverySeventhWrong(WrongAfterTwenty):
    """Every seventh backward call of the process doubles its contributions."""

    flaky = True

    def combine(self, leaf: torch.Tensor, old: torch.Tensor | None, new: torch.Tensor | None) -> torch.Tensor | None:
        return Combining.combine(self, leaf, old, 2 * new if new is not None and self.calls % 7 == 0 else new)
