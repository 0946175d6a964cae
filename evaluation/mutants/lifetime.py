"""Mutants whose fault is in the lifetime of graphs: they free too little, too much, or the wrong graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from autograd_conformance.programs.language import Attrs
from evaluation.mutants.mutant import FREED, Cotangents, Mutant, Recording, is_freed

Roots = Sequence[torch.Tensor]


class NeverFrees(Mutant):
    """A backward call never frees the graph, whatever retain_graph says."""

    killed_by = (
        "lifetime/same-root-raises",
        "lifetime/freed-subgraph-raises",
        "lifetime/default-frees",
        "lifetime/last-call-frees",
    )

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        super().backward(roots, cotangents, True, **options)


class AlwaysFrees(Mutant):
    """A backward call always frees the graph: it ignores retain_graph=True."""

    killed_by = ("lifetime/retained-works",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        super().backward(roots, cotangents, None, **options)


class DefaultKeeps(Mutant):
    """Without retain_graph, a backward call retains the graph."""

    killed_by = ("lifetime/default-frees", "lifetime/same-root-raises")

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        super().backward(roots, cotangents, retain_graph is not False, **options)


class FalseKeeps(Mutant):
    """A backward call with retain_graph=False retains the graph; without the argument it frees."""

    killed_by = ("lifetime/same-root-raises", "lifetime/last-call-frees", "lifetime/freed-subgraph-raises")

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        super().backward(roots, cotangents, retain_graph is not None, **options)


class LateRetainRevives(Recording):
    """A backward call with retain_graph=True on a freed graph recomputes the graph instead of raising."""

    killed_by = ("lifetime/late-retain-raises",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        held = self.grads()
        try:
            super().backward(roots, cotangents, retain_graph, **options)
        except RuntimeError as error:
            if not retain_graph or not is_freed(error):
                raise
            self.set_grads(held)
            super().backward([self._again(root) for root in roots], cotangents, True, **options)

    def _again(self, value: torch.Tensor) -> torch.Tensor:
        if id(value) not in self.made:
            return value
        op, operands, attrs, k = self.made[id(value)]
        return super().apply(op, [self._again(x) for x in operands], attrs)[k]


class SilentWhenFreed(Mutant):
    """A backward call on a freed graph does nothing instead of raising."""

    killed_by = ("lifetime/same-root-raises", "lifetime/freed-subgraph-raises")

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        held = self.grads()
        try:
            super().backward(roots, cotangents, retain_graph, **options)
        except RuntimeError as error:
            if not is_freed(error):
                raise
            self.set_grads(held)


class ChecksRootOnly(Recording):
    """A backward call checks only its root for having been freed: from a new root it walks a freed graph."""

    killed_by = ("lifetime/freed-subgraph-raises",)

    def reset(self) -> None:
        super().reset()
        self.freed: set[int] = set()

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        if any(id(root) in self.freed for root in roots):
            raise RuntimeError(FREED)
        super().backward(roots, cotangents, True, **options)
        if not retain_graph:
            self.freed.update(id(root) for root in roots if not root.is_leaf)


class RetainSticks(Recording):
    """A graph that was retained once is never freed."""

    killed_by = ("lifetime/last-call-frees",)

    def reset(self) -> None:
        super().reset()
        self.kept: set[int] = set()

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        if retain_graph:
            self.kept.update(map(id, roots))
        super().backward(roots, cotangents, retain_graph or any(id(root) in self.kept for root in roots), **options)


class RetainsOnce(Recording):
    """The second backward call on a retained graph frees it even with retain_graph=True."""

    killed_by = ("lifetime/retained-works",)

    def reset(self) -> None:
        super().reset()
        self.walked: set[int] = set()

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        again = any(id(root) in self.walked for root in roots)
        self.walked.update(map(id, roots))
        super().backward(roots, cotangents, retain_graph and not again, **options)


class FreesEverything(Recording):
    """A backward call that frees its graph frees every graph of the program."""

    killed_by = ("lifetime/independent", "lifetime/traversed-only")

    def reset(self) -> None:
        super().reset()
        self.gone: set[int] = set()

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        if any(id(root) in self.gone for root in roots):
            raise RuntimeError(FREED)
        super().backward(roots, cotangents, retain_graph, **options)
        if not retain_graph:
            self.gone.update(map(id, self.values))


class FreesWholeGraph(Recording):
    """A backward call that frees its graph also frees other branches that share values with it."""

    killed_by = ("lifetime/traversed-only",)

    def reset(self) -> None:
        super().reset()
        self.graph: dict[int, int] = {}
        self.gone: set[int] = set()

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        made = super().apply(op, operands, attrs)
        parts = {self.graph[id(x)] for x in operands if id(x) in self.graph}
        self.graph.update({id(value): id(made[0]) for value in made})
        self.graph.update({value: id(made[0]) for value, part in self.graph.items() if part in parts})
        self.gone |= {id(made[0])} if parts & self.gone else set()
        return made

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        graphs = {self.graph[id(root)] for root in roots if id(root) in self.graph}
        if graphs & self.gone:
            raise RuntimeError(FREED)
        super().backward(roots, cotangents, retain_graph, **options)
        if not retain_graph:
            self.gone |= graphs


class CachesResults(Recording):
    """An op that is applied again to the same operands returns a copy of its earlier result, with the earlier history,
    even if that was freed.
    """

    killed_by = ("lifetime/rebuilt", "lifetime/independent")

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        def same(value: torch.Tensor) -> bool:
            made = self.made[id(value)]
            return (made[0], made[2]) == (op, attrs) and list(map(id, made[1])) == list(map(id, operands))

        return [value.clone() for value in self.values if same(value)] or super().apply(op, operands, attrs)


class LeftoverCotangents(Recording):
    """Cotangents of a root accumulate over calls: the nth backward call on a root adds n times its gradient."""

    killed_by = ("lifetime/retained-works", "accumulation/adds")

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        held = self.grads()
        super().backward(roots, cotangents, retain_graph, **options)
        for root in roots:
            times = sum(value is root for value in self.values) - 1
            self.values.append(root)
            for leaf, old in zip(self.leaves, held, strict=True):
                if leaf.grad is not None and times > 0:
                    leaf.grad = leaf.grad + times * (leaf.grad if old is None else leaf.grad - old)
