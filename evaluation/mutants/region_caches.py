"""Mutants that take a function, when it is called again in a program, for what it was when it was called first."""

from __future__ import annotations

from typing import TypeVar

import torch

from autograd_conformance.frameworks.pytorch.regions import Function
from evaluation.mutants.regions import PlainRegions, Tensors, shares

Kept = TypeVar("Kept")


class Cached(PlainRegions):
    """A mutant that remembers something of every function's first call in a program."""

    longest = 16
    why_long = "a function that is called twice, in units of its own"

    def reset(self) -> None:
        super().reset()
        self.first: dict[Function, object] = {}

    def kept(self, function: Function, now: Kept) -> Kept:
        """What there is to remember of a call, as it was when the function was called first."""
        return self.first.setdefault(function, now)  # type: ignore[return-value]


def alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether one tensor can stand for another, by its form."""
    return one.shape == other.shape and one.dtype == other.dtype


class KeepsConstants(Cached):
    """The constants that a function is called with are those of its first call."""

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
    """An input that required no grad when a function was called first gets no gradient later."""

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
    """A function is recorded if it was when it was called first."""

    killed_by = ("gradients/requires-grad", "modes/restored", "modes/no-grad-result")

    def called(self, function: Function, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        with torch.set_grad_enabled(self.kept(function, torch.is_grad_enabled())):
            return super().called(function, inputs)


class KeepsLayouts(Cached):
    """Inputs are read by the strides that they had when the function was called first."""

    killed_by = ("gradients/requires-grad", "gradients/forward")

    def called(self, function: Function, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        first = self.kept(function, [(x.shape, x.stride()) for x in inputs])
        given = [
            x.as_strided(shape, strides) if x.shape == shape and dense(x) else x
            for x, (shape, strides) in zip(inputs, first, strict=True)
        ]
        return super().called(function, given)


def dense(value: torch.Tensor) -> bool:
    """Whether a tensor has memory of its size, whatever the order of its elements."""
    return value.untyped_storage().nbytes() == value.numel() * value.element_size()


class KeepsShapes(Cached):
    """Inputs have the shape that they had when the function was called first, where they have as many elements."""

    killed_by = ("gradients/requires-grad", "gradients/forward", "writes/value")

    def called(self, function: Function, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        first = self.kept(function, [x.shape for x in inputs])
        given = [
            x if x.numel() != shape.numel() or x.shape == shape else x.reshape(shape)
            for x, shape in zip(inputs, first, strict=True)
        ]
        return super().called(function, given)


class KeepsDtypes(Cached):
    """Results have the dtype that they had when the function was called first."""

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
    """Results lie in the memory of those that the function gave first."""

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
    """A function that raised once gives results without history from then on."""

    killed_by = ("gradients/requires-grad", "errors/recovers")

    def called(self, function: Function, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        try:
            made = super().called(function, inputs)
        except RuntimeError:
            self.first[function] = "broken"
            raise
        return tuple(y.detach() for y in made) if function in self.first else made


class ThrowsErrorsAgain(Cached):
    """A function that raised once raises whenever it is called."""

    killed_by = ("errors/legal-returns", "errors/recovers")

    def called(self, function: Function, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        if function in self.first:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        try:
            return super().called(function, inputs)
        except RuntimeError:
            self.first[function] = "broken"
            raise
