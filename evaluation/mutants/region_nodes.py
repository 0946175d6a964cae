"""Mutants whose regions are one graph node or are recomputed, with a fault in what they save, free or return."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint

from autograd_conformance.frameworks.pytorch.modes.layers import Function
from autograd_conformance.programs.capabilities import Traits
from autograd_conformance.programs.language import Program
from evaluation.mutants.regions import OneNodeRegions, RecomputedRegions, Tensors

Cotangents = Sequence[torch.Tensor | None]


class ChecksNoVersions(OneNodeRegions):
    """A region does not detect a write over a tensor that it saved: it differentiates at the new values."""

    killed_by = ("writes/error-or-recorded",)
    versions = False


class FreesNothing(OneNodeRegions):
    """A backward call never frees the graph of a region, whatever retain_graph says."""

    killed_by = ("lifetime/same-root-raises", "lifetime/late-retain-raises", "lifetime/freed-subgraph-raises")
    frees = False


class FreesAll(OneNodeRegions):
    """A backward call through a part of a region frees all of it, and no trait declares that regions are one node."""

    killed_by = ("lifetime/traversed-only", "lifetime/independent")
    traits = Traits()
    zeros = False


class ShiftsGradients(OneNodeRegions):
    """If a region's first input is a constant, each other input gets the gradient of the next one, if
    shapes are equal.
    """

    killed_by = ("gradients/graph", "gradients/op")

    def gradients(self, context: Any, found: Cotangents) -> Cotangents:
        shapes = [g.shape for g in found if g is not None]
        shifted = not context.inputs[0].requires_grad and len({*shapes}) == 1 and len(shapes) == len(found)
        return [*found[1:], *found[:1]] if shifted else found


class KeepsCotangents(OneNodeRegions):
    """The cotangents of a call are added to those of earlier calls on the same graph."""

    killed_by = (
        "lifetime/retained-works",
        "accumulation/adds",
        "relations/repeated",
        "gradients/graph",
        "gradients/several-results",
    )

    def cotangents(self, context: Any, given: Cotangents) -> Cotangents:
        before = getattr(context, "before", [None] * len(given))
        pairs = zip(before, given, strict=True)
        context.before = [new if old is None else old if new is None else old + new for old, new in pairs]
        return context.before  # type: ignore[no-any-return]


class SwapsCotangents(OneNodeRegions):
    """The cotangents of a region's first two results are swapped if their shapes are equal."""

    killed_by = ("gradients/several-results", "gradients/op", "gradients/graph")

    def cotangents(self, context: Any, given: Cotangents) -> Cotangents:
        (one, other, *more), made = (given, context.made) if len(given) > 1 else ((None, None), ())
        return [other, one, *more] if len(made) > 1 and made[0].shape == made[1].shape else given


class GoesStraightToLeaves(OneNodeRegions):
    """A region adds gradients to the `.grad` of leaves among its inputs even in a call that returns gradients."""

    killed_by = ("functional/no-accumulation", "functional/value", "functional/inputs-only")

    def gradients(self, context: Any, found: Cotangents) -> Cotangents:
        requiring = [x for x in context.outer if x.requires_grad]
        kept: list[torch.Tensor | None] = []
        for x, gradient in zip(requiring, found, strict=True):
            straight = x.is_leaf and gradient is not None
            if straight:
                x.grad = gradient.clone() if x.grad is None else x.grad + gradient
            kept.append(None if straight else gradient)
        return kept


class SharesBuffers(OneNodeRegions):
    """A region saves its tensors in the memory of its previous call, whose graph may still be needed."""

    killed_by = (
        "gradients/requires-grad",
        "lifetime/rebuilt",
        "gradients/graph",
        "gradients/equal-leaves",
        "gradients/op",
    )
    longest = 16
    why_long = "a region that is called twice, between actions"

    def reset(self) -> None:
        super().reset()
        self.saved: dict[Function, list[torch.Tensor]] = {}

    def traced(self, context: Any, function: Function, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        old, new = self.saved.get(function, []), list[torch.Tensor]()
        with saved_tensors_hooks(lambda value: packed(value, old, new), lambda buffer: buffer):
            made = super().traced(context, function, inputs)
        self.saved[function] = new
        return made


class DonatesBuffers(OneNodeRegions):
    """A backward call overwrites the tensors that a region saved, even if the graph is retained."""

    killed_by = ("lifetime/retained-works", "gradients/graph", "relations/repeated", "accumulation/adds")

    def traced(self, context: Any, function: Function, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        context.saved = []
        with saved_tensors_hooks(lambda value: packed(value, [], context.saved), lambda buffer: buffer):
            return super().traced(context, function, inputs)

    def gradients(self, context: Any, found: Cotangents) -> Cotangents:
        for buffer in context.saved:
            buffer.zero_()
        return found


def packed(value: torch.Tensor, old: Sequence[torch.Tensor], new: list[torch.Tensor]) -> torch.Tensor:
    """A copy of a saved tensor, appended to `new`; it reuses the memory of its counterpart in `old` if shape and dtype
    agree.
    """
    place, copy = len(new), value.detach().clone()
    if place < len(old) and old[place].shape == copy.shape and old[place].dtype == copy.dtype:
        copy = old[place].copy_(copy)
    new.append(copy)
    return copy


# -- recomputed --------------------------------------------------------------------------------------------------------


class Captures(RecomputedRegions):
    """A checkpointed region is recomputed from the current values of its inputs, without a check of their versions."""

    killed_by = ("writes/error-or-recorded",)

    def called(self, function: Function, inputs: Tensors) -> tuple[torch.Tensor, ...] | None:
        return checkpoint(lambda: function(*inputs), use_reentrant=False)  # type: ignore[no-any-return]


class WritesAgain(RecomputedRegions):
    """A checkpointed region that writes to its inputs writes again when it is recomputed."""

    killed_by = ("writes/nothing-else", "errors/legal-returns", "gradients/graph", "writes/value")

    def holds(self, program: Program, at: int, run: Sequence[int]) -> bool:
        return True


class DrawsAnew(RecomputedRegions):
    """A checkpointed region draws other random numbers when it is recomputed."""

    killed_by = ("networks/random", "gradients/graph")

    def recompute(self, function: Function, inputs: Tensors) -> tuple[torch.Tensor, ...] | None:
        seed, torch.manual_seed = torch.manual_seed, lambda seed: torch.default_generator
        try:
            torch.default_generator.manual_seed(12345)
            return function(*inputs)
        finally:
            torch.manual_seed = seed


class KeepsFirstInputs(RecomputedRegions):
    """A checkpointed region that was called several times is recomputed from the inputs of its first call."""

    killed_by = ("gradients/requires-grad", "gradients/graph", "gradients/equal-leaves", "gradients/op")
    longest = 16
    why_long = "a region that is called twice, between actions"

    def reset(self) -> None:
        super().reset()
        self.first: dict[Function, Tensors] = {}

    def called(self, function: Function, inputs: Tensors) -> tuple[torch.Tensor, ...] | None:
        self.first.setdefault(function, [x.detach().clone() for x in inputs])
        return super().called(function, inputs)

    def recompute(self, function: Function, inputs: Tensors) -> tuple[torch.Tensor, ...] | None:
        pairs = zip(inputs, self.first[function], strict=True)
        given = [
            x if x.shape != old.shape or x.dtype != old.dtype else old.requires_grad_(x.requires_grad)
            for x, old in pairs
        ]
        return super().recompute(function, given)
