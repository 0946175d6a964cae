"""Mutants whose fault depends on what the process or the program did before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from evaluation.mutants.mutant import Combining, Cotangents

Tensors = Sequence[torch.Tensor]


class WrongAfterTwenty(Combining):
    """After the first twenty backward calls of the process, contributions are doubled."""

    killed_by = ("accumulation/first", "accumulation/adds")
    flaky = True
    calls = 0

    def combine(self, leaf: torch.Tensor, old: torch.Tensor | None, new: torch.Tensor | None) -> torch.Tensor | None:
        return super().combine(leaf, old, 2 * new if new is not None and self.calls > 20 else new)

    def backward(self, roots: Tensors, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        self.calls += 1
        super().backward(roots, cotangents, retain_graph, **options)


class EverySeventhWrong(WrongAfterTwenty):
    """Every seventh backward call of the process doubles its contributions."""

    flaky = True

    def combine(self, leaf: torch.Tensor, old: torch.Tensor | None, new: torch.Tensor | None) -> torch.Tensor | None:
        return Combining.combine(self, leaf, old, 2 * new if new is not None and self.calls % 7 == 0 else new)


class WrongFromTheThirdProgram(Combining):
    """From the third program of the process on, contributions are doubled."""

    killed_by = ("sequences/history", "accumulation/first", "accumulation/adds")
    programs = 0

    def reset(self) -> None:
        super().reset()
        self.programs += 1

    def combine(self, leaf: torch.Tensor, old: torch.Tensor | None, new: torch.Tensor | None) -> torch.Tensor | None:
        return super().combine(leaf, old, 2 * new if new is not None and self.programs > 2 else new)


class WrongAfterFailures(Combining):
    """After a backward call of a program has failed, contributions are doubled."""

    killed_by = ("errors/recovers", "sequences/history", "accumulation/adds")
    longest = 12
    why_long = "a call that fails, the graph that makes it fail, and a call that is right"

    def reset(self) -> None:
        super().reset()
        self.failed = False

    def combine(self, leaf: torch.Tensor, old: torch.Tensor | None, new: torch.Tensor | None) -> torch.Tensor | None:
        return super().combine(leaf, old, 2 * new if new is not None and self.failed else new)

    def backward(self, roots: Tensors, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        try:
            super().backward(roots, cotangents, retain_graph, **options)
        except RuntimeError:
            self.failed = True
            raise


class WrongAfterFiveActions(Combining):
    """From the sixth backward call of a program on, contributions are doubled."""

    killed_by = ("sequences/history", "accumulation/adds", "relations/repeated")
    longest = 12
    why_long = "six calls, and a graph for each"

    def reset(self) -> None:
        super().reset()
        self.calls = 0

    def combine(self, leaf: torch.Tensor, old: torch.Tensor | None, new: torch.Tensor | None) -> torch.Tensor | None:
        return super().combine(leaf, old, 2 * new if new is not None and self.calls > 5 else new)

    def backward(self, roots: Tensors, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        self.calls += 1
        super().backward(roots, cotangents, retain_graph, **options)
