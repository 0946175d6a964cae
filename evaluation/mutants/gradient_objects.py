"""Mutants whose fault is in gradient objects: their identity, their memory or their strides."""

from __future__ import annotations

from typing import Any

import torch

from evaluation.mutants.mutant import Cotangents, Mutant, Recording, Roots


class AddsToCopies(Mutant):
    """A backward call replaces a leaf's gradient object by a new one instead of adding to it in place."""

    killed_by = ("accumulation/in-place",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        for leaf in self.leaves:
            if leaf.grad is not None and not options.get("create_graph"):
                with torch.enable_grad():  # under no_grad, a copy of a differentiable gradient would be a constant
                    leaf.grad = leaf.grad.clone()
        super().backward(roots, cotangents, retain_graph, **options)


class ChangesTheOld(Mutant):
    """A backward call with create_graph makes a new gradient object for a leaf, and also changes the old one."""

    killed_by = ("accumulation/replaces", "gradients/forward")  # the old one is used after

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        old = [leaf.grad for leaf in self.leaves]
        super().backward(roots, cotangents, retain_graph, **options)
        for leaf, held in zip(self.leaves, old, strict=True):
            if held is not None and leaf.grad is not None and leaf.grad is not held and options.get("create_graph"):
                held.data.copy_(leaf.grad.data)


class CreatesInPlace(Mutant):
    """A backward call with create_graph writes the sum into the memory of a leaf's old gradient."""

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
    """The first gradient of a matrix is column-major, whatever the strides of the leaf."""

    killed_by = ("accumulation/layout",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        first = [leaf for leaf in self.leaves if leaf.grad is None and leaf.dim() == 2]
        super().backward(roots, cotangents, retain_graph, **options)
        for leaf in first:
            if leaf.grad is not None:
                leaf.grad.data = leaf.grad.data.mT.contiguous().mT


class AssignsAnything(Mutant):
    """Assigning a gradient of another shape does nothing instead of raising."""

    killed_by = ("accumulation/assigned-form",)

    def assign_grad(self, leaf: torch.Tensor, value: torch.Tensor | None) -> None:
        if value is None or value.shape == leaf.shape:
            super().assign_grad(leaf, value)


class AssignedIsReplaced(Recording):
    """A backward call replaces an assigned gradient instead of adding to it."""

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
    """Assigning None to the `.grad` of a leaf with a gradient sets it to zeros."""

    killed_by = ("accumulation/assigned",)

    def assign_grad(self, leaf: torch.Tensor, value: torch.Tensor | None) -> None:
        zeros = leaf.grad is not None and value is None
        super().assign_grad(leaf, torch.zeros_like(leaf) if zeros else value)
