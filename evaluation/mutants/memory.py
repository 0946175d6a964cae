"""Mutants whose fault is in saved tensors: they keep too many, too few, or more with each call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakSet, ref

import torch

from autograd_conformance.frameworks.pytorch.saved import TorchSaved
from autograd_conformance.programs.language import Attrs
from evaluation.mutants.mutant import FREED, Cotangents, Mutant

Roots = Sequence[torch.Tensor]


class Counted(Mutant, TorchSaved):
    """PyTorch with a count of its saved tensors; `kept` keeps tensors alive."""

    def reset(self) -> None:
        """Start a new program, with nothing kept alive."""
        super().reset()
        self.kept: list[Any] = []
        self.calls = 0

    def backward(
        self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, *options: Any, **named: Any
    ) -> None:
        """A backward call, counted in `calls`."""
        self.calls += 1
        super().backward(roots, cotangents, retain_graph, *options, **named)


class KeepsWhatItWalked(Counted):
    """The saved tensors of a graph stay alive after a backward call frees the graph."""

    killed_by = ("memory/freed",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        if not (retain_graph or options.get("create_graph")):
            self.kept += self.boxes
        super().backward(roots, cotangents, retain_graph, **options)


class KeepsWhereItFailed(Counted):
    """All saved tensors stay alive after a backward call fails on a freed graph."""

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
    """A backward call that frees its graph also releases the saved tensors of all other graphs, and recomputes them
    later.
    """

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
    """A backward call that retains the graph releases its saved tensors, and recomputes them later."""

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
    """A backward call that retains the graph saves a second copy of each saved tensor."""

    killed_by = ("memory/retained",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        super().backward(roots, cotangents, retain_graph, **options)
        if retain_graph:
            self.kept += [self._pack(box.tensor) for box in list(self.boxes)]


class KeepsUnwalked(Counted):
    """The saved tensors of an unreachable graph stay alive until a backward call frees some graph."""

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
    """A detached value keeps the saved tensors of its source's graph alive."""

    killed_by = ("memory/dropped",)

    def detach(self, value: torch.Tensor) -> torch.Tensor:
        made = super().detach(value)
        made.source = value  # type: ignore[attr-defined]
        return made


class LeaksInTheLongRun(Counted):
    """From the second backward call of a program on, each call keeps one saved tensor alive."""

    killed_by = ("memory/steady", "memory/freed", "memory/dropped", "memory/cycle")
    longest = 14
    why_long = "a second round of building, walking and clearing"

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        if self.calls:
            self.kept += list(self.boxes)[:1]
        super().backward(roots, cotangents, retain_graph, **options)


class CyclesStay(Counted):
    """The tensors that a call with create_graph saves stay alive after the gradients are cleared."""

    killed_by = ("memory/cycle",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        before = set(self.boxes)
        super().backward(roots, cotangents, retain_graph, **options)
        if options.get("create_graph"):
            self.kept += self.boxes - before


class KeepsUnwalkedWrites(Counted):
    """The tensors that a recorded write saves stay alive until a backward call walks some graph."""

    killed_by = ("memory/dropped",)

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        before = set(self.boxes)
        super().write(op, target, operands, attrs)
        self.kept += self.boxes - before

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        self.kept.clear()
        super().backward(roots, cotangents, retain_graph, **options)


class RepeatedOpStays(Counted):
    """The tensors that a call with create_graph saves stay alive if an op other than `multiply`, `sin`, `square`,
    `sigmoid` and `tanh` was applied to its own result.
    """

    killed_by = ("memory/cycle",)

    def reset(self) -> None:
        super().reset()
        self.made: list[tuple[str, ref[torch.Tensor]]] = []
        self.faulty = False

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        if op not in ("multiply", "sin", "square", "sigmoid", "tanh"):
            self.faulty |= any(op == other and each is value() for other, value in self.made for each in operands)
        made = super().apply(op, operands, attrs)
        self.made += [(op, ref(each)) for each in made]
        return made

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        before = set(self.boxes)
        super().backward(roots, cotangents, retain_graph, **options)
        if options.get("create_graph") and self.faulty:
            self.kept += self.boxes - before
