"""Mutants whose fault is in views: which values share memory, and their history."""

from __future__ import annotations

import torch

from autograd_conformance.ops.rows.row import Certainty
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.language import Attrs
from evaluation.mutants.mutant import Mutant, Roots
from evaluation.mutants.writes import guarded, recorded

SURE = frozenset(name for name, row in OPS.items() if row.aliases is Certainty.ALWAYS)
"""Ops whose results are views."""


class ViewsAreCopies(Mutant):
    """Ops that return views return copies."""

    killed_by = ("views/shares",)

    def apply(self, op: str, operands: Roots, attrs: Attrs) -> Roots:
        made = super().apply(op, operands, attrs)
        return [y.clone() for y in made] if op in SURE else made


class TransposesCopy(Mutant):
    """matrix_transpose returns a copy instead of a view."""

    killed_by = ("views/shares",)

    def apply(self, op: str, operands: Roots, attrs: Attrs) -> Roots:
        made = super().apply(op, operands, attrs)
        return [y.clone() for y in made] if op == "matrix_transpose" else made


class DetachCopies(Mutant):
    """Detach returns a copy that does not share memory."""

    killed_by = ("views/shares",)

    def detach(self, value: torch.Tensor) -> torch.Tensor:
        return value.detach().clone()


class ClonesAreViews(Mutant):
    """clone returns a view instead of a copy."""

    killed_by = ("views/own-memory",)

    def apply(self, op: str, operands: Roots, attrs: Attrs) -> Roots:
        return [operands[0].view_as(operands[0])] if op == "clone" else super().apply(op, operands, attrs)


class SameIsShared(Mutant):
    """An op whose result equals its operand returns a view of the operand."""

    killed_by = ("views/own-memory",)

    def apply(self, op: str, operands: Roots, attrs: Attrs) -> Roots:
        made = super().apply(op, operands, attrs)
        same = op in ("relu", "abs", "clip", "tril", "clone") and torch.equal(made[0], operands[0])
        return [operands[0].view_as(operands[0])] if same else made


class NegatesItsOperand(Mutant):
    """negative computes its result in its operand's memory."""

    killed_by = ("views/own-memory", "gradients/forward", "gradients/graph", "errors/legal-returns")
    longest = 20
    why_long = "a wrong gradient that is found first does not shrink: shorter programs violate another rule"

    def apply(self, op: str, operands: Roots, attrs: Attrs) -> Roots:
        made = super().apply(op, operands, attrs)
        if op == "negative" and operands[0].numel():
            made[0].data = operands[0].data.neg_()
        return made


class ViewsWriteUnrecorded(Mutant):
    """A write to a view is not recorded."""

    killed_by = ("views/history", "writes/recorded", "writes/error-or-recorded")

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        hidden = target._is_view() and recorded(target, operands) and target.requires_grad and not guarded(target)
        with torch.set_grad_enabled(torch.is_grad_enabled() and not hidden):
            super().write(op, target, operands, attrs)


class BasesWriteUnrecorded(Mutant):
    """A write to a base does not change the history of its views."""

    killed_by = ("views/history", "writes/error-or-recorded")

    def reset(self) -> None:
        super().reset()
        self.views: dict[int, list[torch.Tensor]] = {}

    def apply(self, op: str, operands: Roots, attrs: Attrs) -> Roots:
        made = super().apply(op, operands, attrs)
        if op in SURE and operands[0].grad_fn is not None:
            self.views.setdefault(id(operands[0]), []).extend(made)
            made = [y.clone() for y in made]
            for view, copy in zip(self.views[id(operands[0])][-len(made) :], made, strict=True):
                copy.data = view.data
        return made
