"""Mutants whose fault is in a leaf's `.grad`: after one call, after several, or after clearing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import torch

from evaluation.mutants.mutant import Combining, Cotangents, Mutant

ReadGrad: TypeAlias = torch.Tensor | None


class Overwrites(Combining):
    """A backward call replaces a leaf's `.grad` instead of adding to it."""

    killed_by = ("accumulation/adds",)

    def combine(self, leaf: torch.Tensor, old: ReadGrad, new: ReadGrad) -> ReadGrad:
        return old if new is None else new


class KeepsFirst(Combining):
    """A leaf with a gradient ignores all later contributions."""

    killed_by = ("accumulation/adds",)

    def combine(self, leaf: torch.Tensor, old: ReadGrad, new: ReadGrad) -> ReadGrad:
        return new if old is None else old


class AddsTwice(Combining):
    """Every contribution is added twice, also the first one."""

    killed_by = ("accumulation/first", "accumulation/adds")

    def combine(self, leaf: torch.Tensor, old: ReadGrad, new: ReadGrad) -> ReadGrad:
        return super().combine(leaf, old, None if new is None else 2 * new)


class Averages(Combining):
    """A backward call sets a leaf's `.grad` to the mean of the old gradient and the contribution instead of
    their sum.
    """

    killed_by = ("accumulation/adds",)

    def combine(self, leaf: torch.Tensor, old: ReadGrad, new: ReadGrad) -> ReadGrad:
        return super().combine(leaf, old, new) if old is None or new is None else (old + new) / 2


class UnusedGetsZeros(Combining):
    """A leaf that the root does not depend on gets a gradient of zeros instead of None."""

    killed_by = ("accumulation/unreached",)

    def combine(self, leaf: torch.Tensor, old: ReadGrad, new: ReadGrad) -> ReadGrad:
        made = super().combine(leaf, old, new)
        return torch.zeros_like(leaf) if made is None and leaf.requires_grad else made


class UnusedLosesGradient(Combining):
    """A backward call sets the `.grad` of a leaf that the root does not depend on to None."""

    killed_by = ("accumulation/unreached",)

    def combine(self, leaf: torch.Tensor, old: ReadGrad, new: ReadGrad) -> ReadGrad:
        return None if new is None else super().combine(leaf, old, new)


class ConstantGetsGradient(Combining):
    """A leaf that requires no grad gets a gradient of ones."""

    killed_by = ("accumulation/constant",)

    def combine(self, leaf: torch.Tensor, old: ReadGrad, new: ReadGrad) -> ReadGrad:
        return super().combine(leaf, old, new) if leaf.requires_grad else torch.ones_like(leaf)


class ForgetsAtZero(Combining):
    """A contribution of zeros sets the leaf's `.grad` to None instead of leaving it unchanged."""

    killed_by = ("accumulation/adds",)

    def combine(self, leaf: torch.Tensor, old: ReadGrad, new: ReadGrad) -> ReadGrad:
        forgets = old is not None and new is not None and not new.any()
        return None if forgets else super().combine(leaf, old, new)


class SharesGradient(Mutant):
    """Leaves with equal gradients share one gradient object."""

    killed_by = ("accumulation/own-object",)

    def backward(
        self, roots: Sequence[torch.Tensor], cotangents: Cotangents, retain_graph: bool | None, **options: Any
    ) -> None:
        super().backward(roots, cotangents, retain_graph, **options)
        for n, leaf in enumerate(self.leaves):
            for other in self.leaves[:n]:
                both = leaf.grad is not None and other.grad is not None and leaf.dtype == other.dtype
                if both and torch.equal(leaf.grad, other.grad):
                    leaf.grad = other.grad


class ClearsToZeros(Mutant):
    """Clearing gradients to None sets them to zeros."""

    killed_by = ("accumulation/zero-to-none",)

    def zero_grad(self, leaves: Sequence[torch.Tensor], set_to_none: bool) -> None:
        super().zero_grad(leaves, False)


class ClearsToNone(Mutant):
    """Clearing gradients to zeros sets them to None."""

    killed_by = ("accumulation/zero-to-zeros",)

    def zero_grad(self, leaves: Sequence[torch.Tensor], set_to_none: bool) -> None:
        super().zero_grad(leaves, True)


class ZeroesNothing(Mutant):
    """Clearing gradients to zeros does nothing."""

    killed_by = ("accumulation/zero-to-zeros",)

    def zero_grad(self, leaves: Sequence[torch.Tensor], set_to_none: bool) -> None:
        if set_to_none:
            super().zero_grad(leaves, True)


class ClearsAll(Mutant):
    """Clearing the gradients of some leaves to None clears those of every leaf of the program."""

    killed_by = ("accumulation/zero-to-none",)

    def zero_grad(self, leaves: Sequence[torch.Tensor], set_to_none: bool) -> None:
        super().zero_grad(self.leaves if set_to_none else leaves, set_to_none)
