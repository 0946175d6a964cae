"""Mutants whose fault is in shared memory: values share memory unexpectedly, or stop sharing it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from autograd_conformance.ops.modules import MODULES
from autograd_conformance.programs.language import Attrs, Groups
from evaluation.mutants.functional import Functional, Grads
from evaluation.mutants.mutant import Cotangents, Mutant, Recording, Roots


def alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors have equal dtype, strides and elements."""
    return one.dtype == other.dtype and one.stride() == other.stride() and torch.equal(one, other)


class EqualLeavesShare(Mutant):
    """A leaf shares the memory of an earlier leaf with equal values."""

    killed_by = ("views/own-memory", "gradients/equal-leaves")

    def leaf(self, data: np.ndarray, requires_grad: bool) -> torch.Tensor:
        before = list(self.leaves)
        made = super().leaf(data, requires_grad)
        for other in before:
            if alike(made, other):
                made.data = other.data
        return made


class ResultsAreKept(Recording):
    """An op that is applied again to the same operands returns its result in the memory of the first result."""

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
    """A first gradient that equals a leaf shares that leaf's memory: for a product, the memory of the other factor."""

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
    """The functional form returns a gradient that equals some value of the program in the memory of that value."""

    killed_by = ("views/own-memory", "functional/inner-input", "functional/frees", "functional/value")

    def change_results(self, found: Grads, roots: Roots, inputs: Roots, options: dict[str, Any]) -> Grads:
        for gradient in found:
            for value in (*self.leaves, *self.values):
                if gradient is not None and gradient.numel() and alike(gradient, value):
                    gradient.data = value.data
        return found


class FunctionalGivesHeld(Functional):
    """The functional form returns a gradient that equals the input's `.grad` in the memory of that `.grad`."""

    killed_by = ("views/own-memory", "functional/no-accumulation")

    def change_results(self, found: Grads, roots: Roots, inputs: Roots, options: dict[str, Any]) -> Grads:
        for leaf, gradient in zip(inputs, found, strict=True):
            held = self.gradient(leaf)
            if held is not None and gradient is not None and gradient.numel() and alike(gradient, held):
                gradient.data = held.data
        return found


class ModulesMove(Mutant):
    """A module moves its parameters to new memory, as PyTorch's recurrent modules do on CUDA: values that shared the
    memory stop sharing it.
    """

    killed_by = ("views/shares",)

    def apply(self, op: str, operands: Roots, attrs: Attrs) -> Roots:
        for operand in operands if op in MODULES else ():
            if operand.is_leaf:
                operand.data = operand.data.clone()
        return super().apply(op, operands, attrs)


class StepsElsewhere(Mutant):
    """A step moves each leaf to new memory before it updates it: values that shared the memory keep the old values."""

    killed_by = ("writes/aliases", "views/shares", "sequences/history")

    def step(self, leaves: Roots, optimizer: str, settings: Attrs, groups: Groups = ()) -> None:
        for leaf in leaves:
            leaf.data = leaf.data.clone()
        super().step(leaves, optimizer, settings, groups)


class StepsAndMoves(Mutant):
    """A step moves each leaf to new memory after it updates it: values that shared the memory stop sharing it."""

    killed_by = ("views/shares", "sequences/history", "writes/error-or-recorded", "writes/unsaved-works")

    def step(self, leaves: Roots, optimizer: str, settings: Attrs, groups: Groups = ()) -> None:
        super().step(leaves, optimizer, settings, groups)
        for leaf in leaves:
            leaf.data = leaf.data.clone()
