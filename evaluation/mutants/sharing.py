"""Mutants whose fault concerns memory that is shared where nobody expects it, or no longer shared."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from autograd_conformance.programs.language import Attrs, Groups
from evaluation.mutants.functional import Functional, Grads
from evaluation.mutants.mutant import Cotangents, Mutant, Recording, Roots


def alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors could be one."""
    return one.dtype == other.dtype and one.stride() == other.stride() and torch.equal(one, other)


class EqualLeavesShare(Mutant):
    """A leaf lies in the memory of an earlier one of equal values."""

    killed_by = ("views/own-memory", "gradients/equal-leaves")

    def leaf(self, data: np.ndarray, requires_grad: bool) -> torch.Tensor:
        before = list(self.leaves)
        made = super().leaf(data, requires_grad)
        for other in before:
            if alike(made, other):
                made.data = other.data
        return made


class ResultsAreKept(Recording):
    """An op that is applied to the same operands again gives its result in the memory of the first time."""

    killed_by = ("views/own-memory", "lifetime/rebuilt")

    def apply(self, op: str, operands: Roots, attrs: Attrs) -> Roots:
        for value in self.values:
            known = self.made[id(value)]
            same = known[0] == op and known[2] == attrs and len(known[1]) == len(operands)
            if same and all(x is y for x, y in zip(known[1], operands, strict=True)):
                made = super().apply(op, operands, attrs)
                if len(made) == 1 and alike(made[0], value):
                    made[0].data = value.data
                return made
        return super().apply(op, operands, attrs)


class GradientsAreOperands(Mutant):
    """A product's gradient with a cotangent of ones is the other factor, in the other factor's own memory."""

    killed_by = (
        "views/own-memory",
        "accumulation/own-object",
        "gradients/op",
        "gradients/several-results",
        "accumulation/first",
        "gradients/fan-out",
    )

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        first = [leaf for leaf in self.leaves if leaf.grad is None]
        super().backward(roots, cotangents, retain_graph, **options)
        for leaf in first:
            for factor in self.leaves:
                if leaf.grad is not None and leaf.numel() and alike(leaf.grad, factor):
                    leaf.grad.data = factor.data


class FunctionalGivesValues(Functional, Recording):
    """The functional form returns a gradient that equals a value of the program in that value's memory."""

    killed_by = ("views/own-memory", "functional/inner-input", "functional/frees", "functional/value")

    def change_results(self, found: Grads, roots: Roots, inputs: Roots, options: dict[str, Any]) -> Grads:
        for gradient in found:
            for value in (*self.leaves, *self.values):
                if gradient is not None and gradient.numel() and alike(gradient, value):
                    gradient.data = value.data
        return found


class FunctionalGivesHeld(Functional):
    """The functional form returns a gradient that equals what the input holds in that gradient's memory."""

    killed_by = ("views/own-memory", "functional/no-accumulation")

    def change_results(self, found: Grads, roots: Roots, inputs: Roots, options: dict[str, Any]) -> Grads:
        for leaf, gradient in zip(inputs, found, strict=True):
            held = self.gradient(leaf)
            if held is not None and gradient is not None and gradient.numel() and alike(gradient, held):
                gradient.data = held.data
        return found


class StepsElsewhere(Mutant):
    """A step gives each leaf new memory before it moves it: what shares the old one does not see it move."""

    killed_by = ("writes/aliases", "views/shares", "sequences/history")

    def step(self, leaves: Roots, optimizer: str, settings: Attrs, groups: Groups = ()) -> None:
        for leaf in leaves:
            leaf.data = leaf.data.clone()
        super().step(leaves, optimizer, settings, groups)


class StepsAndMoves(Mutant):
    """A step gives each leaf that it moved new memory: what shares the old one has its values, but shares no more."""

    killed_by = ("views/shares", "sequences/history", "writes/error-or-recorded", "writes/unsaved-works")

    def step(self, leaves: Roots, optimizer: str, settings: Attrs, groups: Groups = ()) -> None:
        super().step(leaves, optimizer, settings, groups)
        for leaf in leaves:
            leaf.data = leaf.data.clone()
