"""Mutants whose fault concerns what they keep alive: too much, too little, or a little more each time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakSet

import torch

from autograd_conformance.frameworks.pytorch.saved import TorchSaved
from autograd_conformance.programs.language import Attrs
from evaluation.mutants.mutant import FREED, Cotangents, Mutant

Roots = Sequence[torch.Tensor]


class Counted(Mutant, TorchSaved):
    """PyTorch that counts its saved tensors; what is in `kept` does not go away."""

    def reset(self) -> None:
        """Nothing kept yet."""
        super().reset()
        self.kept: list[Any] = []
        self.calls = 0

    def backward(
        self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, *options: Any, **named: Any
    ) -> None:
        """A call, counted."""
        self.calls += 1
        super().backward(roots, cotangents, retain_graph, *options, **named)


class KeepsWhatItWalked(Counted):
    """What a graph saved stays alive when a call frees the graph, for ever."""

    killed_by = ("memory/freed",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        if not (retain_graph or options.get("create_graph")):
            self.kept += self.boxes
        super().backward(roots, cotangents, retain_graph, **options)


class KeepsWhereItFailed(Counted):
    """What a graph saved stays alive, for ever, when a call on it comes to a part that was freed."""

    killed_by = ("memory/dropped",)

    def backward(
        self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, *options: Any, **named: Any
    ) -> None:
        held = list(self.boxes)
        try:
            super().backward(roots, cotangents, retain_graph, *options, **named)
        except RuntimeError as error:
            self.kept += held if FREED in str(error) else []
            raise


class FreesUnwalked(Counted):
    """A call that frees its graph lets go of what every other graph saved, too, and computes that anew when needed."""

    killed_by = ("memory/freed",)

    def reset(self) -> None:
        super().reset()
        self.hidden: WeakSet[Any] = WeakSet()

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        super().backward(roots, cotangents, retain_graph, **options)
        if not (retain_graph or options.get("create_graph")):
            self.hidden |= self.boxes

    def saved(self) -> int:
        return len(self.boxes - self.hidden)


class RetainLetsGo(Counted):
    """A call that retains the graph lets go of what it saved, and computes that anew when it is needed."""

    killed_by = ("memory/retained",)

    def reset(self) -> None:
        super().reset()
        self.hidden: WeakSet[Any] = WeakSet()

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        super().backward(roots, cotangents, retain_graph, **options)
        if retain_graph:
            self.hidden |= self.boxes

    def saved(self) -> int:
        return len(self.boxes - self.hidden)


class RetainSavesAgain(Counted):
    """A call that retains the graph saves one more copy of what the graph saved."""

    killed_by = ("memory/retained",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        super().backward(roots, cotangents, retain_graph, **options)
        if retain_graph:
            self.kept += [self._pack(box.tensor) for box in list(self.boxes)]


class KeepsUnwalked(Counted):
    """What a graph saved stays alive until some call frees a graph, when nothing leads to it any more."""

    killed_by = ("memory/dropped",)

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        made = super().apply(op, operands, attrs)
        self.kept += self.boxes
        return made

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        if not (retain_graph or options.get("create_graph")):
            self.kept.clear()
        super().backward(roots, cotangents, retain_graph, **options)


class DetachedKeeps(Counted):
    """A detached value keeps alive what the graph of its source saved."""

    killed_by = ("memory/dropped",)

    def detach(self, value: torch.Tensor) -> torch.Tensor:
        made = super().detach(value)
        made.source = value  # type: ignore[attr-defined]
        return made


class LeaksInTheLongRun(Counted):
    """From the second backward call on, one tensor that the graph saved stays alive for ever."""

    killed_by = ("memory/steady", "memory/freed", "memory/dropped", "memory/cycle")
    longest = 14
    why_long = "a second round of building, walking and clearing"

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        if self.calls:
            self.kept += list(self.boxes)[:1]
        super().backward(roots, cotangents, retain_graph, **options)


class CyclesStay(Counted):
    """What a call with create_graph saves stays alive for ever, though the gradients are cleared."""

    killed_by = ("memory/cycle",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        before = set(self.boxes)
        super().backward(roots, cotangents, retain_graph, **options)
        if options.get("create_graph"):
            self.kept += self.boxes - before
