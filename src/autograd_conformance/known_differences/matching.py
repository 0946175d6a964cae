"""Decides whether a violation is a known difference: the violation fulfils every condition of an entry, and its values
are within the entry's limits.
"""

from __future__ import annotations

from autograd_conformance.known_differences.conditions import holds
from autograd_conformance.known_differences.entry import Known
from autograd_conformance.known_differences.subject import is_within_limits
from autograd_conformance.programs import slugs
from autograd_conformance.programs.language import Apply, Program
from autograd_conformance.programs.observations import Kind
from autograd_conformance.rules.catalogue import RULES, Compares
from autograd_conformance.rules.violations.expected import ExpectedError, ExpectedReturn
from autograd_conformance.rules.violations.observed import OtherGradient, RaisedError
from autograd_conformance.rules.violations.shared import GradientForm, ResultDtype, ResultShape
from autograd_conformance.rules.violations.violation import Allowed, Violation
from autograd_conformance.tape.expectation.backward_calls import RAISED_MIDWAY

MOVING = tuple(rule.slug for rule in RULES.values() if rule.compares is Compares.MOVES)
"""The rules about the new value of a leaf after an optimizer step."""


def is_known(entry: Known, program: Program, violation: Violation) -> bool:
    """Whether a violation of a program is the difference that an entry lists."""
    rules = (violation.rule, *_general(entry, violation))
    if entry.rule not in rules and not _is_of_op_alone(entry, program, violation):
        return False
    if not holds(entry, program, violation):
        return False
    if entry.result_dtype is not None:
        return _has_dtype(violation, entry.result_dtype)
    if entry.wrong_shape:
        return isinstance(violation.observed, ResultShape)
    return is_within_limits(entry, violation)


def _has_dtype(violation: Violation, dtype: str) -> bool:
    """Whether a result has this dtype, or a gradient of the expected shape has it."""
    observed = violation.observed
    if isinstance(observed, GradientForm):
        shapes = [allowed.expected.shape for allowed in violation.allowed if isinstance(allowed.expected, GradientForm)]
        return observed.dtype == dtype and observed.shape in shapes
    return observed == ResultDtype(dtype)


def _general(entry: Known, violation: Violation) -> tuple[str, ...]:
    """The more general rules whose entries may cover this violation.

    An entry with an error kind or message covers a legal call that raised this error, and a call that raised it before
    reaching the expected error. An entry about gradients covers gradients of gradients too, if it names an op, certain
    calls or certain writes. An entry with an optimizer step covers all rules about the values after a step.
    """
    if entry.step and violation.rule in MOVING:
        return MOVING
    if entry.duplicate_root and violation.rule == slugs.RELATIONS_SUM:  # whose terms may be the very same
        return (slugs.GRADIENTS_GRAPH,)
    observed = violation.observed
    unheard = entry.message and isinstance(observed, RaisedError) and observed.kind is Kind.UNKNOWN
    instead = Allowed(ExpectedReturn(), violation.rule) in violation.allowed or _is_cut_short(violation)
    if unheard or (instead and (entry.message or entry.raised)):
        return (slugs.ERRORS_LEGAL_RETURNS,)
    calls = entry.graph_reused or entry.grad_already_set or entry.duplicate_root or entry.root_without_inputs
    says_where = entry.op or calls or entry.requires_grad_toggled or entry.writes_overlapping_leaf
    if not (says_where and isinstance(observed, OtherGradient)):
        return ()
    higher = RULES[violation.rule].graph_rule == slugs.HIGHER_DIFFERENTIABLE
    return (slugs.GRADIENTS_GRAPH, slugs.HIGHER_DIFFERENTIABLE) if higher else (slugs.GRADIENTS_GRAPH,)


def _is_of_op_alone(entry: Known, program: Program, violation: Violation) -> bool:
    """Whether the entry is about the gradient of one op, and the violation about a graph in which this is the
    only op.
    """
    ops = {violation.op} if violation.op else {step.op for step in program if isinstance(step, Apply)}
    return (entry.rule, violation.rule) == (slugs.GRADIENTS_OP, slugs.GRADIENTS_GRAPH) and ops == {entry.op}


def _is_cut_short(violation: Violation) -> bool:
    """Whether a failed recomputation stopped a call before it could raise the expected error. If a call can raise two
    errors, no rule orders them.
    """
    stopped = isinstance(violation.observed, RaisedError) and violation.observed.kind is Kind.RECOMPUTED
    return stopped and all(
        isinstance(allowed.expected, ExpectedReturn)
        or (isinstance(allowed.expected, ExpectedError) and allowed.expected.kind in RAISED_MIDWAY)
        for allowed in violation.allowed
    )
