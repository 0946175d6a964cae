"""Mutants whose functions are one node of the graph, or are computed again: what is saved, freed, and given back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint

from autograd_conformance.frameworks.pytorch.regions import Function, TorchRegions
from autograd_conformance.programs.capabilities import Traits
from autograd_conformance.programs.language import Program
from evaluation.mutants.regions import OneNodeRegions, RecomputedRegions, Tensors

Cotangents = Sequence[torch.Tensor | None]


class ChecksNoVersions(OneNodeRegions):
    """What was written over what a function has saved is not noticed: derivatives are taken at the new values."""

    killed_by = ("writes/error-or-recorded",)
    versions = False


class FreesNothing(OneNodeRegions):
    """A call leaves the graph of a function as it is, whether it is to be retained or not."""

    killed_by = ("lifetime/same-root-raises", "lifetime/late-retain-raises", "lifetime/freed-subgraph-raises")
    frees = False


class FreesAll(OneNodeRegions):
    """A call through some of a function frees all of it, and nothing says that functions are one node."""

    killed_by = ("lifetime/traversed-only", "lifetime/independent")
    traits = Traits()
    zeros = False


class ShiftsGradients(OneNodeRegions):
    """Where a constant stands before an input, the input gets the next one's gradient if it has its shape."""

    killed_by = ("gradients/graph", "gradients/op")

    def gradients(self, context: Any, found: Cotangents) -> Cotangents:
        shapes = [g.shape for g in found if g is not None]
        shifted = not context.inputs[0].requires_grad and len({*shapes}) == 1 and len(shapes) == len(found)
        return [*found[1:], *found[:1]] if shifted else found


class KeepsCotangents(OneNodeRegions):
    """The cotangents of a call are added to those of the calls before it on the same graph."""

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
    """The cotangents of two results of one shape change places."""

    killed_by = ("gradients/several-results", "gradients/op", "gradients/graph")

    def cotangents(self, context: Any, given: Cotangents) -> Cotangents:
        (one, other, *more), made = (given, context.made) if len(given) > 1 else ((None, None), ())
        return [other, one, *more] if len(made) > 1 and made[0].shape == made[1].shape else given


class GoesStraightToLeaves(OneNodeRegions):
    """Gradients are left in leaves that a function was called with, whatever the call asks for."""

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
    """A function that is called again saves in the memory of the call before, whose graph may still be needed."""

    killed_by = (
        "gradients/requires-grad",
        "lifetime/rebuilt",
        "gradients/graph",
        "gradients/equal-leaves",
        "gradients/op",
    )
    longest = 16
    why_long = "a function that is called twice, in units of its own"

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
    """A call takes the memory of what a function has saved for its own use, also where the graph is retained."""

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
    """A copy of what is saved as the next of the `new` ones, in the memory of that of the `old` ones if it fits."""
    place, copy = len(new), value.detach().clone()
    if place < len(old) and old[place].shape == copy.shape and old[place].dtype == copy.dtype:
        copy = old[place].copy_(copy)
    new.append(copy)
    return copy


# -- computed again ----------------------------------------------------------------------------------------------------


class Captures(RecomputedRegions):
    """A function is computed again with its inputs as they are by then, and nobody checks their versions."""

    killed_by = ("writes/error-or-recorded",)

    def called(self, function: Function, inputs: Tensors) -> tuple[torch.Tensor, ...] | None:
        return checkpoint(lambda: function(*inputs), use_reentrant=False)  # type: ignore[no-any-return]


class WritesAgain(RecomputedRegions):
    """A function that is computed again writes into its inputs again."""

    killed_by = ("writes/nothing-else", "errors/legal-returns", "gradients/graph", "writes/value")

    def holds(self, program: Program, at: int, run: Sequence[int]) -> bool:
        return TorchRegions.holds(self, program, at, run)


class DrawsAnew(RecomputedRegions):
    """A function that is computed again draws other random numbers."""

    killed_by = ("networks/random", "gradients/graph")

    def recompute(self, function: Function, inputs: Tensors) -> tuple[torch.Tensor, ...] | None:
        seed, torch.manual_seed = torch.manual_seed, lambda seed: torch.default_generator
        try:
            torch.default_generator.manual_seed(12345)
            return function(*inputs)
        finally:
            torch.manual_seed = seed


class KeepsFirstInputs(RecomputedRegions):
    """A function that was called several times is computed again from what it was called with first."""

    killed_by = ("gradients/requires-grad", "gradients/graph", "gradients/equal-leaves", "gradients/op")
    longest = 16
    why_long = "a function that is called twice, in units of its own"

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
