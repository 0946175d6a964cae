"""Mutants whose fault concerns in-place writes: what they change, who sees it, what is recorded or refused."""

from __future__ import annotations

from typing import Any

import torch

from autograd_conformance.programs.language import Attrs
from evaluation.mutants.mutant import Cotangents, Mutant, Recording, Roots, gated

MODIFIED = "one of the variables needed for gradient computation has been modified by an inplace operation"


def recorded(target: torch.Tensor, operands: Roots) -> bool:
    """Whether a write is recorded."""
    return torch.is_grad_enabled() and any(x.requires_grad for x in (target, *operands))


def guarded(target: torch.Tensor) -> bool:
    """Whether a value is a leaf that requires grad, or a view of one."""
    base = target._base if target._is_view() else target
    return base is not None and base.is_leaf and base.requires_grad


class NoVersions(Mutant):
    """A write under no_grad leaves no trace: the next walk takes the new values for those that were recorded."""

    killed_by = ("writes/error-or-recorded",)

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        hidden = not torch.is_grad_enabled()
        super().write(op, target.data if hidden else target, operands, attrs)


class ChecksEveryWrite(Recording):
    """Once anything was written to, every value made before is refused as a root: nothing has to be saved for it."""

    killed_by = ("writes/unsaved-works",)

    def reset(self) -> None:
        super().reset()
        self.old: set[int] = set()

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        super().write(op, target, operands, attrs)
        self.old = set(map(id, self.values)) - {id(target)}

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: object) -> None:
        if any(id(root) in self.old for root in roots):
            raise RuntimeError(MODIFIED)
        super().backward(roots, cotangents, retain_graph, **options)  # type: ignore[arg-type]


class AddsTwiceInPlace(Mutant):
    """An add in place is made twice."""

    killed_by = ("writes/value",)

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        super().write(op, target, operands, attrs)
        if op == "add_":
            super().write(op, target, operands, attrs)


class WritesSingle(Mutant):
    """What is multiplied in place is rounded to float32."""

    killed_by = ("writes/value",)
    longest = 9

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        super().write(op, target, operands, attrs)
        if op in ("mul_", "mul_scalar_"):
            target.data.copy_(target.data.float())


class ZeroesHalf(Mutant):
    """Zeroing in place leaves the last element."""

    killed_by = ("writes/value",)

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        last = target.detach().flatten()[-1:].clone()
        super().write(op, target, operands, attrs)
        if op == "zero_" and last.numel():
            target.data.view(-1)[-1:] = last if target.is_contiguous() else 0


class ViewsLeaveTheirBase(Mutant):
    """A write to a view gives it memory of its own first: its base does not see it."""

    killed_by = ("writes/aliases", "views/history", "views/shares")

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        if target._is_view() and not guarded(target):
            target.data = target.data.clone()
        super().write(op, target, operands, attrs)


class CopiesOnWrite(Mutant):
    """A write gives its target memory of its own first: no view and no detached value sees it."""

    killed_by = ("writes/aliases", "views/shares")

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        target.data = target.data.clone()
        super().write(op, target, operands, attrs)


class WritesBeyond(Mutant):
    """A write also adds one to the program's first leaf, where that has other memory."""

    killed_by = ("writes/nothing-else",)

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        super().write(op, target, operands, attrs)
        first = self.leaves[0]
        if self.memory(first) != self.memory(target):
            first.data.add_(1)


class WritesOperands(Mutant):
    """A write of a value also zeroes the value that was written."""

    killed_by = ("writes/nothing-else",)

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        super().write(op, target, operands, attrs)
        for x in operands:
            if self.memory(x) != self.memory(target):
                x.data.zero_()


class WrittenGetsNothing(Mutant):
    """No gradient flows to what was written."""

    killed_by = ("writes/recorded",)

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        super().write(op, target, [gated(x, torch.zeros_like) for x in operands], attrs)


class OverwrittenGetsAll(Mutant):
    """The gradient of what a copy in place overwrote is that of the copy."""

    killed_by = ()  # writes/recorded ought to, and does not yet

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        if op == "copy_" and recorded(target, operands) and not guarded(target):
            target.add_(operands[0] - target.detach())
            target.data.copy_(operands[0].detach())
        else:
            super().write(op, target, operands, attrs)


class ZeroedStillFlows(Mutant):
    """Zeroing in place is not recorded: the gradient flows on to what was there before."""

    killed_by = ("writes/recorded", "views/history", "writes/error-or-recorded")

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        if op == "zero_" and recorded(target, operands) and not guarded(target):
            target.data.zero_()
        else:
            super().write(op, target, operands, attrs)


class ConstantsStayConstant(Mutant):
    """A constant that something is written to which requires grad does not require grad afterwards."""

    killed_by = ("writes/requires-grad",)

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        super().write(op, target, operands if target.requires_grad else [x.detach() for x in operands], attrs)


class LeavesWritten(Mutant):
    """A recorded write to a leaf that requires grad is made without being recorded."""

    killed_by = ("writes/leaf-raises",)

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        with torch.set_grad_enabled(torch.is_grad_enabled() and not target.is_leaf):
            super().write(op, target, operands, attrs)


class LeafViewsWritten(Mutant):
    """A recorded write to a view of a leaf that requires grad is made without being recorded."""

    killed_by = ("writes/leaf-raises",)

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        hidden = guarded(target) and target._is_view()
        super().write(op, target.data if hidden else target, operands, attrs)


class RefusesTooLate(Mutant):
    """A write that is refused has been made."""

    killed_by = ("writes/refused-keeps-values",)

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        try:
            super().write(op, target, operands, attrs)
        except RuntimeError:
            if guarded(target):
                super().write(op, target.data, [x.detach() for x in operands], attrs)
            raise


class StepMovesIdle(Mutant):
    """An optimizer's step also shrinks the leaves that hold no gradient."""

    killed_by = ("optimizers/skips",)

    def step(self, leaves: Roots, optimizer: str, settings: Attrs, **options: Any) -> None:
        super().step(leaves, optimizer, settings, **options)
        for leaf in leaves:
            if leaf.grad is None:
                leaf.data.mul_(0.5)
