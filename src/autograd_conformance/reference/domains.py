"""Tests whether ops are computed where they are smooth; elsewhere, the rules do not specify an op's results.

At a kink, a pole or a tie, frameworks have different conventions, and NaN may be propagated by one and hidden by
another. Programs that a strategy draws stay inside the domains by construction. Programs that were written by hand,
replayed or reduced are tested here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.ops.rows.domains import ANY, Domain
from autograd_conformance.programs.language import Apply, BackwardCall, InPlace, Instruction, Ref
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.staging.derivatives import Array


def in_domain(step: Instruction, values: Mapping[Ref, Array]) -> bool:
    """Whether the operands of an op, or of an in-place write, are inside the domain from which strategies draw them;
    true of other instructions.
    """
    return _fits(step, values, lambda domain, value: domain.holds(value))


def is_smooth(step: Instruction, values: Mapping[Ref, Array]) -> bool:
    """Whether an op, or an in-place write, is smooth at its operands, even if strategies do not draw such operands;
    true of other instructions.
    """
    return _fits(step, values, lambda domain, value: domain.is_smooth(value))


def _fits(step: Instruction, values: Mapping[Ref, Array], inside: Callable[[Domain, Array], bool]) -> bool:
    if not isinstance(step, (Apply, InPlace)):
        return True
    op = row_of(step.op)
    operands = [values[ref] for ref in (step.args if isinstance(step, Apply) else (step.target, *step.args))]
    if not all(op.domain(k) is ANY or inside(op.domain(k), value) for k, value in enumerate(operands)):
        return False
    return all(map(_is_finite, operands)) and (op.apart is None or bool(op.apart(*operands)))


def _is_finite(value: Array) -> bool:
    """Whether all elements of an array are finite. A finite sum proves it, and is usually all that has to be
    computed.
    """
    return math.isfinite(np.add.reduce(value, axis=None)) or bool(np.isfinite(value).all())


def is_finite_call(call: BackwardCall) -> bool:
    """Whether a call's cotangents are finite. Zero times infinity is zero in one framework and NaN in another."""
    return all(cotangent is None or all(map(math.isfinite, cotangent.data)) for cotangent in call.cotangents)
