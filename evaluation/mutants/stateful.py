"""Mutants whose fault is in optimizer steps, in gradients used as values, or in assigned gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from autograd_conformance.programs.language import Attrs
from evaluation.mutants.mutant import Cotangents, Mutant, Roots


class StepsTwice(Mutant):
    """An optimizer makes each step twice."""

    killed_by = ("optimizers/formula",)

    def step(self, leaves: Sequence[torch.Tensor], optimizer: str, settings: Attrs, **options: Any) -> None:
        super().step(leaves, optimizer, settings, **options)
        super().step(leaves, optimizer, settings, **options)


class ForgetsMomentum(Mutant):
    """An optimizer discards its state after each step."""

    killed_by = ("optimizers/remembers",)

    def step(self, leaves: Sequence[torch.Tensor], optimizer: str, settings: Attrs, **options: Any) -> None:
        self.made_optimizers.clear()
        super().step(leaves, optimizer, settings, **options)


class StepsUnseen(Mutant):
    """The write check does not detect an optimizer's step: a later backward call uses the new values for the saved
    ones.
    """

    killed_by = ("writes/error-or-recorded",)

    def step(self, leaves: Sequence[torch.Tensor], optimizer: str, settings: Attrs, **options: Any) -> None:
        old = [leaf.detach().clone() for leaf in leaves]
        versions = [leaf.detach().clone().requires_grad_() for leaf in leaves]
        for version, leaf in zip(versions, leaves, strict=True):
            version.grad = leaf.grad
        key = (tuple(map(id, leaves)), optimizer, settings)
        twins = self.made_optimizers.setdefault((key, "twins"), versions)  # type: ignore[arg-type]
        for twin, value, version in zip(twins, old, versions, strict=True):  # type: ignore[call-overload]
            twin.data.copy_(value)
            twin.grad = version.grad
        super().step(twins, optimizer, settings, **options)  # type: ignore[arg-type]
        for leaf, twin in zip(leaves, twins, strict=True):  # type: ignore[call-overload]
            leaf.data.copy_(twin.data)


class ChecksEverything(Mutant):
    """After an optimizer's step, backward calls on all earlier values are refused, even if no saved tensor was
    overwritten.
    """

    killed_by = ("writes/unsaved-works",)

    def reset(self) -> None:
        super().reset()
        self.old: set[int] = set()
        self.made: list[torch.Tensor] = []

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        made = super().apply(op, operands, attrs)
        self.made += made
        return made

    def step(self, leaves: Sequence[torch.Tensor], optimizer: str, settings: Attrs, **options: Any) -> None:
        super().step(leaves, optimizer, settings, **options)
        self.old = set(map(id, self.made))

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        if any(id(root) in self.old for root in roots):
            raise RuntimeError("a variable has been modified by an inplace operation")
        super().backward(roots, cotangents, retain_graph, **options)


class HigherDetached(Mutant):
    """A gradient computed with create_graph has no history."""

    killed_by = ("higher/differentiable",)

    def gradient(self, leaf: torch.Tensor) -> torch.Tensor | None:
        return None if leaf.grad is None else leaf.grad.detach()


class HigherDoubled(Mutant):
    """A gradient of a gradient is doubled."""

    killed_by = ("higher/differentiable", "higher/op")

    def gradient(self, leaf: torch.Tensor) -> torch.Tensor | None:
        grad = leaf.grad
        return 2 * grad - grad.detach() if grad is not None and grad.requires_grad else grad


class AlwaysDifferentiable(Mutant):
    """Every backward call has create_graph, even if it was not requested."""

    killed_by = ("higher/plain-raises",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        super().backward(roots, cotangents, bool(retain_graph), **(options | {"create_graph": True}))


class AssignsNothing(Mutant):
    """Assigning a gradient to a leaf that has one does nothing."""

    killed_by = ("accumulation/assigned",)

    def assign_grad(self, leaf: torch.Tensor, value: torch.Tensor | None) -> None:
        if leaf.grad is None:
            super().assign_grad(leaf, value)
