"""Mutants that reuse facts about a region's first call in a program for its later calls, as a faulty cache does."""

from __future__ import annotations

from typing import TypeVar

import torch

from autograd_conformance.frameworks.pytorch.modes.layers import Function
from evaluation.mutants.regions import PlainRegions, Tensors, shares

Kept = TypeVar("Kept")


class Cached(PlainRegions):
    """A mutant that remembers something of each region's first call in a program."""

    longest = 16
    why_long = "a region that is called twice, between actions"

    def reset(self) -> None:
        super().reset()
        self.first: dict[Function, object] = {}

    def kept(self, function: Function, now: Kept) -> Kept:
        """The value remembered at the region's first call; `now` at the first call."""
        return self.first.setdefault(function, now)  # type: ignore[return-value]


def alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors have the same shape and dtype."""
    return one.shape == other.shape and one.dtype == other.dtype


class KeepsConstants(Cached):
    """A region uses the constants of its first call instead of those of the current call."""

    killed_by = (
        "gradients/requires-grad",
        "gradients/forward",
        "views/own-memory",
        "gradients/graph",
        "gradients/equal-leaves",
        "gradients/op",
    )

    def called(self, function: Function, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        pairs = zip(inputs, self.kept(function, inputs), strict=True)
        given = [x if x.requires_grad or old.requires_grad or not alike(x, old) else old for x, old in pairs]
        return super().called(function, given)


class KeepsFlags(Cached):
    """An input that required no grad in a region's first call gets no gradient in later calls."""

    killed_by = (
        "gradients/requires-grad",
        "modes/frozen-leaf",
        "gradients/graph",
        "gradients/equal-leaves",
        "gradients/op",
    )

    def called(self, function: Function, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        first = self.kept(function, [x.requires_grad for x in inputs])
        return super().called(function, [x if on else x.detach() for x, on in zip(inputs, first, strict=True)])


class KeepsModes(Cached):
    """A region is recorded if its first call was recorded, whatever the current grad mode."""

    killed_by = ("gradients/requires-grad", "modes/restored", "modes/no-grad-result")

    def called(self, function: Function, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        with torch.set_grad_enabled(self.kept(function, torch.is_grad_enabled())):
            return super().called(function, inputs)


class KeepsLayouts(Cached):
    """A region reads its inputs by the strides of its first call."""

    killed_by = ("gradients/requires-grad", "gradients/forward")

    def called(self, function: Function, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        first = self.kept(function, [(x.shape, x.stride()) for x in inputs])
        given = [
            x.as_strided(shape, strides) if x.shape == shape and dense(x) else x
            for x, (shape, strides) in zip(inputs, first, strict=True)
        ]
        return super().called(function, given)


def dense(value: torch.Tensor) -> bool:
    """Whether a tensor fills its storage, in any order of its elements."""
    return value.untyped_storage().nbytes() == value.numel() * value.element_size()


class KeepsShapes(Cached):
    """A region reshapes its inputs to the shapes of its first call if the numbers of elements are equal."""

    killed_by = ("gradients/requires-grad", "gradients/forward", "writes/value")

    def called(self, function: Function, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        first = self.kept(function, [x.shape for x in inputs])
        given = [
            x if x.numel() != shape.numel() or x.shape == shape else x.reshape(shape)
            for x, shape in zip(inputs, first, strict=True)
        ]
        return super().called(function, given)


class KeepsDtypes(Cached):
    """A region converts its results to the dtypes of its first call."""

    killed_by = (
        "gradients/requires-grad",
        "gradients/forward",
        "gradients/graph",
        "gradients/equal-leaves",
        "gradients/op",
    )

    def called(self, function: Function, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        made = super().called(function, inputs)
        first = self.kept(function, [y.dtype for y in made])
        return tuple(y.to(dtype) for y, dtype in zip(made, first, strict=True))


class KeepsMemory(Cached):
    """A region returns its results in the memory of the results of its first call."""

    killed_by = ("gradients/requires-grad", "views/own-memory", "writes/nothing-else")

    def called(self, function: Function, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        made = super().called(function, inputs)
        first = self.kept(function, [y.detach() for y in made])
        for y, old in zip(made, first, strict=True):
            if alike(y, old) and y.stride() == old.stride() and not y._is_view() and not shares(y, old):
                old.data.copy_(y.detach())
                y.data = old.data
        return made


class StaysBroken(Cached):
    """A region that raised once returns results without history in later calls."""

    killed_by = ("gradients/requires-grad", "errors/recovers")

    def called(self, function: Function, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        try:
            made = super().called(function, inputs)
        except RuntimeError:
            self.first[function] = "broken"
            raise
        return tuple(y.detach() for y in made) if function in self.first else made


class ThrowsErrorsAgain(Cached):
    """A region that raised once raises in every later call."""

    killed_by = ("errors/legal-returns", "errors/recovers")

    def called(self, function: Function, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        if function in self.first:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        try:
            return super().called(function, inputs)
        except RuntimeError:
            self.first[function] = "broken"
            raise
