"""Decides whether a violation is a known difference: the violation fulfils every condition of an entry, and its values
are within the entry's limits.
"""

from __future__ import annotations

from autograd_conformance.known_differences.condition import Outcome
from autograd_conformance.known_differences.conditions.computed import DuplicateRoot
from autograd_conformance.known_differences.conditions.instructions import OptimizerStep
from autograd_conformance.known_differences.conditions.outcomes import Message
from autograd_conformance.known_differences.entry import Known
from autograd_conformance.programs import slugs
from autograd_conformance.programs.language import Apply, Program
from autograd_conformance.programs.observations import Kind
from autograd_conformance.rules.catalogue import RULES, Compares
from autograd_conformance.rules.violations.expected import ExpectedError, ExpectedReturn
from autograd_conformance.rules.violations.observed import OtherGradient, RaisedError
from autograd_conformance.rules.violations.violation import Allowed, Violation
from autograd_conformance.tape.expectation.backward_calls import RAISED_MIDWAY

MOVING = tuple(rule.slug for rule in RULES.values() if rule.compares is Compares.MOVES)
"""The slugs of the rules about the new value of a leaf after an optimizer step."""

GENERAL = frozenset({*MOVING, slugs.GRADIENTS_GRAPH, slugs.HIGHER_DIFFERENTIABLE, slugs.ERRORS_LEGAL_RETURNS})
"""The slugs of rules whose entries may cover violations of other rules; `_general` decides for which."""


def is_known(entry: Known, program: Program, violation: Violation) -> bool:
    """Whether a violation of a program is the difference that an entry lists."""
    if entry.rule != violation.rule and not _is_more_general(entry, program, violation):
        return False
    op = entry.op
    return all(each.holds(program, violation, op) for each in entry.conditions) and (
        _has_no_values(entry) or entry.limits.allow(violation)
    )


def _is_more_general(entry: Known, program: Program, violation: Violation) -> bool:
    """Whether an entry covers violations of this rule, although it is about another rule."""
    if entry.rule in GENERAL:
        return entry.rule in _general(entry, violation)
    return _is_of_op_alone(entry, program, violation)


def _has_no_values(entry: Known) -> bool:
    """Whether the entry is about a wrong dtype or shape of a result; then the limits are not consulted, because no
    values are compared.
    """
    return any(each.outcome in (Outcome.DTYPE, Outcome.SHAPE) for each in entry.conditions)


def _general(entry: Known, violation: Violation) -> tuple[str, ...]:
    """Returns the slugs of the more general rules whose entries may cover this violation.

    An entry with an error kind or message covers a legal call that raised this error, and a call that raised it before
    reaching the expected error. An entry about gradients covers gradients of gradients too, if it names an op, certain
    calls or certain writes. An entry with an optimizer step covers all rules about the values after a step.
    """
    if violation.rule in MOVING and entry.get(OptimizerStep):
        return MOVING
    if violation.rule == slugs.RELATIONS_SUM and entry.get(DuplicateRoot):  # whose terms may be the very same
        return (slugs.GRADIENTS_GRAPH,)
    observed = violation.observed
    unheard = isinstance(observed, RaisedError) and observed.kind is Kind.UNKNOWN and entry.get(Message)
    instead = Allowed(ExpectedReturn(), violation.rule) in violation.allowed or _is_cut_short(violation)
    if unheard or (instead and any(each.outcome is Outcome.ERROR for each in entry.conditions)):
        return (slugs.ERRORS_LEGAL_RETURNS,)
    if not (isinstance(observed, OtherGradient) and any(each.covers_gradients for each in entry.conditions)):
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
    """Whether an error of a failed recomputation, as in checkpointing, stopped a call before the call could raise the
    expected error. If a call can raise two errors, no rule orders them.
    """
    stopped = isinstance(violation.observed, RaisedError) and violation.observed.kind is Kind.RECOMPUTED
    return stopped and all(
        isinstance(allowed.expected, ExpectedReturn)
        or (isinstance(allowed.expected, ExpectedError) and allowed.expected.kind in RAISED_MIDWAY)
        for allowed in violation.allowed
    )
