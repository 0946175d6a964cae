"""Mutants whose fault concerns the gradient objects that leaves hold: whose they are, and their layout in memory."""

from __future__ import annotations

from typing import Any

import torch

from evaluation.mutants.mutant import Cotangents, Mutant, Recording, Roots


class AddsToCopies(Mutant):
    """A backward call gives a leaf that holds a gradient a new object: references to the old one do not see the sum."""

    killed_by = ("accumulation/in-place",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        for leaf in self.leaves:
            if leaf.grad is not None and not options.get("create_graph"):
                leaf.grad = leaf.grad.clone()
        super().backward(roots, cotangents, retain_graph, **options)


class ChangesTheOld(Mutant):
    """A backward call with create_graph gives a leaf a new gradient, and adds to the old one, too."""

    killed_by = ("accumulation/replaces", "gradients/forward")  # the old one is used after

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        old = [leaf.grad for leaf in self.leaves]
        super().backward(roots, cotangents, retain_graph, **options)
        for leaf, held in zip(self.leaves, old, strict=True):
            if held is not None and leaf.grad is not None and leaf.grad is not held and options.get("create_graph"):
                held.data.copy_(leaf.grad.data)


class CreatesInPlace(Mutant):
    """A backward call with create_graph adds in place to the object that a leaf holds."""

    killed_by = ("accumulation/replaces",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        old = [leaf.grad for leaf in self.leaves]
        super().backward(roots, cotangents, retain_graph, **options)
        for leaf, held in zip(self.leaves, old, strict=True):
            made = leaf.grad
            if held is not None and made is not None and made is not held and options.get("create_graph"):
                held.data.copy_(made.data)
                made.data = held.data


class ColumnMajor(Mutant):
    """The first gradient of a matrix is column-major, whatever the leaf."""

    killed_by = ("accumulation/layout",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        first = [leaf for leaf in self.leaves if leaf.grad is None and leaf.dim() == 2]
        super().backward(roots, cotangents, retain_graph, **options)
        for leaf in first:
            if leaf.grad is not None:
                leaf.grad.data = leaf.grad.data.mT.contiguous().mT


class AssignsAnything(Mutant):
    """Assigning a gradient of another shape does nothing."""

    killed_by = ("accumulation/assigned-form",)

    def assign_grad(self, leaf: torch.Tensor, value: torch.Tensor | None) -> None:
        if value is None or value.shape == leaf.shape:
            super().assign_grad(leaf, value)


class AssignedIsReplaced(Recording):
    """A backward call replaces a gradient that was assigned."""

    killed_by = ("accumulation/assigned", "accumulation/adds")

    def assign_grad(self, leaf: torch.Tensor, value: torch.Tensor | None) -> None:
        super().assign_grad(leaf, value)
        self.values.append(leaf)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        held = [self.gradient(leaf) for leaf in self.values]
        for leaf in self.values:
            leaf.grad = None
        super().backward(roots, cotangents, retain_graph, **options)
        for leaf, old in zip(self.values, held, strict=True):
            leaf.grad = old if self.gradient(leaf) is None else leaf.grad


class AssignsZeros(Mutant):
    """Assigning none to a leaf that holds a gradient makes it hold zeros."""

    killed_by = ("accumulation/assigned",)

    def assign_grad(self, leaf: torch.Tensor, value: torch.Tensor | None) -> None:
        zeros = leaf.grad is not None and value is None
        super().assign_grad(leaf, torch.zeros_like(leaf) if zeros else value)
