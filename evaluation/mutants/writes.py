"""Mutants whose fault is in in-place writes: the values, the aliases, the recording or the refusals."""

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
    """The write check does not detect writes under no_grad: a later backward call uses the new values for the saved
    ones.
    """

    killed_by = ("writes/error-or-recorded",)

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        hidden = not torch.is_grad_enabled()
        super().write(op, target.data if hidden else target, operands, attrs)


class ChecksEveryWrite(Recording):
    """After any write, backward calls on all earlier values are refused, even if no saved tensor was overwritten."""

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
    """An in-place add is made twice."""

    killed_by = ("writes/value",)

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        super().write(op, target, operands, attrs)
        if op == "add_":
            super().write(op, target, operands, attrs)


class WritesSingle(Mutant):
    """An in-place product is rounded to float32."""

    killed_by = ("writes/value",)
    longest = 9

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        super().write(op, target, operands, attrs)
        if op in ("mul_", "mul_scalar_"):
            target.data.copy_(target.data.float())


class ZeroesHalf(Mutant):
    """In-place zeroing leaves the last element unchanged."""

    killed_by = ("writes/value",)

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        last = target.detach().flatten()[-1:].clone()
        super().write(op, target, operands, attrs)
        if op == "zero_" and last.numel():
            target.data.view(-1)[-1:] = last if target.is_contiguous() else 0


class ViewsLeaveTheirBase(Mutant):
    """A write to a view moves the view to new memory first: its base does not change."""

    killed_by = ("writes/aliases", "views/history", "views/shares")

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        if target._is_view() and not guarded(target):
            target.data = target.data.clone()
        super().write(op, target, operands, attrs)


class CopiesOnWrite(Mutant):
    """A write moves its target to new memory first: views and detached values of it do not change."""

    killed_by = ("writes/aliases", "views/shares")

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        target.data = target.data.clone()
        super().write(op, target, operands, attrs)


class WritesBeyond(Mutant):
    """A write also adds one to the program's first leaf, unless they share memory."""

    killed_by = ("writes/nothing-else",)

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        super().write(op, target, operands, attrs)
        first = self.leaves[0]
        if self.memory(first) != self.memory(target):
            first.data.add_(1)


class WritesOperands(Mutant):
    """A write also zeroes the operand that it wrote."""

    killed_by = ("writes/nothing-else",)

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        super().write(op, target, operands, attrs)
        for x in operands:
            if self.memory(x) != self.memory(target):
                x.data.zero_()


class WrittenGetsNothing(Mutant):
    """A write propagates a gradient of zeros to the operand that it wrote."""

    killed_by = ("writes/recorded",)

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        super().write(op, target, [gated(x, torch.zeros_like) for x in operands], attrs)


class OverwrittenGetsAll(Mutant):
    """An in-place copy propagates the gradient also to the value that it overwrote."""

    killed_by = ()  # writes/recorded should kill it, and does not yet

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        if op == "copy_" and recorded(target, operands) and not guarded(target):
            target.add_(operands[0] - target.detach())
            target.data.copy_(operands[0].detach())
        else:
            super().write(op, target, operands, attrs)


class ZeroedStillFlows(Mutant):
    """In-place zeroing is not recorded: gradients still reach the value that it overwrote."""

    killed_by = ("writes/recorded", "views/history", "writes/error-or-recorded")

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        if op == "zero_" and recorded(target, operands) and not guarded(target):
            target.data.zero_()
        else:
            super().write(op, target, operands, attrs)


class ConstantsStayConstant(Mutant):
    """A constant does not require grad after a value that requires grad was written to it."""

    killed_by = ("writes/requires-grad",)

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        super().write(op, target, operands if target.requires_grad else [x.detach() for x in operands], attrs)


class LeavesWritten(Mutant):
    """A recorded write to a leaf that requires grad is made without recording instead of refused."""

    killed_by = ("writes/leaf-raises",)

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        with torch.set_grad_enabled(torch.is_grad_enabled() and not target.is_leaf):
            super().write(op, target, operands, attrs)


class LeafViewsWritten(Mutant):
    """A recorded write to a view of a leaf that requires grad is made without recording instead of refused."""

    killed_by = ("writes/leaf-raises",)

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        hidden = guarded(target) and target._is_view()
        super().write(op, target.data if hidden else target, operands, attrs)


class RefusesTooLate(Mutant):
    """A refused write changes the values before it raises."""

    killed_by = ("writes/refused-keeps-values",)

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        try:
            super().write(op, target, operands, attrs)
        except RuntimeError:
            if guarded(target):
                super().write(op, target.data, [x.detach() for x in operands], attrs)
            raise


class StepMovesIdle(Mutant):
    """An optimizer's step halves the leaves without a gradient."""

    killed_by = ("optimizers/skips",)

    def step(self, leaves: Roots, optimizer: str, settings: Attrs, **options: Any) -> None:
        super().step(leaves, optimizer, settings, **options)
        for leaf in leaves:
            if leaf.grad is None:
                leaf.data.mul_(0.5)
