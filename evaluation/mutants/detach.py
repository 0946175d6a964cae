"""Mutants whose fault is in detaching and in `requires_grad`."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from autograd_conformance.programs.language import Attrs
from evaluation.mutants.mutant import Mutant, Recording


class DetachKeepsHistory(Mutant):
    """Detach returns a value that still requires grad and has a history."""

    killed_by = ("detach/values", "detach/root-raises")

    def detach(self, value: torch.Tensor) -> torch.Tensor:
        return value.view_as(value)


class DetachLeaks(Recording):
    """A detached value reports no requires_grad, but propagates gradients if it is combined with a value that requires
    grad.
    """

    killed_by = ("detach/blocks",)

    def reset(self) -> None:
        super().reset()
        self.sources: dict[int, torch.Tensor] = {}

    def detach(self, value: torch.Tensor) -> torch.Tensor:
        made = value.detach()
        self.values.append(made)
        self.sources[id(made)] = value
        return made

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        if any(x.requires_grad for x in operands):
            operands = [self.sources.get(id(x), x) for x in operands]
        return super().apply(op, operands, attrs)


class DetachesSource(Mutant):
    """Detaching a value also removes the history of the source."""

    killed_by = ("detach/keeps-source",)

    def detach(self, value: torch.Tensor) -> torch.Tensor:
        return value.detach() if value.is_leaf or value._is_view() else value.detach_()


class DetachRounds(Mutant):
    """Detach rounds the value to float32."""

    killed_by = ("detach/values", "views/shares")

    def detach(self, value: torch.Tensor) -> torch.Tensor:
        return value.detach().float().to(value.dtype)


class AlwaysRequiresGrad(Mutant):
    """Every result of an op requires grad, even if no operand does."""

    killed_by = ("gradients/requires-grad",)

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        made = super().apply(op, operands, attrs)
        return [value if value.requires_grad else value.detach().requires_grad_() for value in made]


class DetachInPlaceIgnored(Mutant):
    """Detaching in place does nothing."""

    killed_by = ("detach/in-place", "gradients/requires-grad")

    def detach_in_place(self, value: torch.Tensor) -> None:
        if value._is_view():
            super().detach_in_place(value)


class DetachInPlaceZeroes(Mutant):
    """Detaching in place also sets the value to zero."""

    killed_by = ("detach/in-place", "gradients/forward", "gradients/graph")

    def detach_in_place(self, value: torch.Tensor) -> None:
        super().detach_in_place(value)
        value.data.zero_()


class DetachesViews(Mutant):
    """Detaching a view in place does nothing instead of raising."""

    killed_by = ("detach/view-raises",)

    def detach_in_place(self, value: torch.Tensor) -> None:
        if not value._is_view():
            super().detach_in_place(value)
