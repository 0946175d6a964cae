"""Cancellation: whether an op keeps its digits where the numbers of its operands are close together and far from zero.

A formula that subtracts two large sums, such as the mean of the squares less the square of the mean, loses the digits
that the numbers have in common twice; one that subtracts the mean first loses them once. The usual bound allows the
latter. A program that shows the former is reported under a separate rule, since documentation rarely excludes it.
"""

from __future__ import annotations

from dataclasses import replace

from autograd_conformance.programs import slugs
from autograd_conformance.programs.dtypes import COARSE
from autograd_conformance.programs.language import Apply, Leaf, Literal, Program
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.rules.judge.checks.elements import is_elementwise
from autograd_conformance.rules.judge.checks.lone_ops import is_lone_op
from autograd_conformance.rules.judge.state import Judging
from autograd_conformance.rules.violations.violation import Allowed, Violation, op_of

RULE = slugs.GRADIENTS_CANCELLATION

OF_VALUES = (slugs.GRADIENTS_FORWARD, slugs.GRADIENTS_OP, slugs.FUNCTIONAL_VALUE)
"""The rules that a number violates that is farther from the exact one than the usual bound."""

FAR = 32.0
"""Numbers that are close together are at least this many times as large as the largest difference between two."""


def judge_cancellation(judging: Judging, violation: Violation | None) -> Violation | None:
    """Judges a program that is one op on numbers that are close together and far from zero, and a call, no more.
    Returns the violation that was found in it, under this check's rule if it is about digits.
    """
    if judging.dtype in COARSE or not may_cancel(judging.program) or not judging.applies(RULE):
        return violation
    if violation is None:
        if not judging.unspecified and not judging.adopted:
            judging.exercise((RULE,))
        return None
    if violation.rule not in OF_VALUES or violation.got is None or not np.isfinite(violation.got).all():
        return violation
    judging.exercise((RULE,))
    allowed = tuple(Allowed(each.expected, RULE) for each in violation.allowed)
    op = violation.op or op_of(judging.program[-2])
    return replace(violation, rule=RULE, op=op, allowed=allowed, diagnosis=None, undiagnosed=None)


def may_cancel(program: Program) -> bool:
    """Whether a program is one op that computes with several elements at once, and a call, and the elements of some
    operand are close together and far from zero.
    """
    if not is_lone_op(program):
        return False
    *leaves, step, _ = program.instructions
    assert isinstance(step, Apply)
    some = any(isinstance(leaf, Leaf) and is_close(leaf.value) for leaf in leaves)
    return some and not is_elementwise(step.op, step.attrs)


def is_close(numbers: Literal) -> bool:
    """Whether numbers are close together and far from zero."""
    if len(numbers.data) < 2:
        return False
    low, high = min(numbers.data), max(numbers.data)
    return low < high and bool(np.isfinite(high - low)) and min(abs(low), abs(high)) >= FAR * (high - low)
