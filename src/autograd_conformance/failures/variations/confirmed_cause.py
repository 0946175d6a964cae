"""Tests the cause to which a reduced failure is attributed.

A diagnosis is a guess from a few numbers. It is confirmed if it also explains the program with other numbers, if no
variation shows another fault, if no path alone is wrong in another way, and if no earlier call contradicts it. A
failure is attributed to the gradient of an op only if the program contains no in-place write and no other call to which
the op contributed the right gradient: the program is reduced, so a write that is left is part of the fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from autograd_conformance.failures.case import Case
from autograd_conformance.failures.variations.look_alikes import told_apart, tripled
from autograd_conformance.programs import slugs
from autograd_conformance.programs.editing import replaced
from autograd_conformance.programs.language import (
    Apply,
    Backward,
    BackwardCall,
    DetachInPlace,
    Grad,
    InPlace,
    Instruction,
    Leaf,
    Literal,
    Program,
    Ref,
)
from autograd_conformance.programs.observations import Returned
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.computation.reverse import TapeEntry
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reference.staging.vjp import base_op
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.diagnosis.graph_faults import graph_faults
from autograd_conformance.rules.diagnosis.kinds import DiagnosisKind
from autograd_conformance.rules.explanation.context import tape_before
from autograd_conformance.rules.violations.observed import RaisedError
from autograd_conformance.rules.violations.violation import Violation
from autograd_conformance.tape.expectation.exercises import WEIGHTS

OF_PATHS = frozenset(
    {
        DiagnosisKind.FIRST_CONTRIBUTION,
        DiagnosisKind.LAST_CONTRIBUTION,
        DiagnosisKind.FIRST_ARGUMENT,
        DiagnosisKind.LAST_ARGUMENT,
    }
)
"""Diagnoses by which only one of the contributions to a value counts."""


def with_confirmed_cause(case: Case) -> Case:
    """Returns the case with its diagnosis and the op named as the cause, if they are confirmed; otherwise without
    them.
    """
    violation = told_apart(case)
    is_guess = violation is case.violation and violation.undiagnosed is not None
    doubts = (_is_contradicted, _fails_on_one_path)
    if is_guess and (any(doubt(case) for doubt in doubts) or not _explains_others(case)):
        violation = violation.undiagnosed or violation
    graph_rule = RULES[violation.rule].graph_rule
    if violation.op is not None and graph_rule is not None and _is_not_only_op(case, violation):
        violation = replace(violation, rule=graph_rule, op=None)
    return case if violation is case.violation else replace(case, violation=violation)


def possible_rules(violation: Violation) -> frozenset[str]:
    """Returns the rules under which a violation may be reported, with or without its diagnosis and the op named as the
    cause.
    """
    rules = {violation.rule} | ({violation.undiagnosed.rule} if violation.undiagnosed else set())
    return frozenset(rules | {general for rule in rules if (general := RULES[rule].graph_rule) is not None})


# -- diagnoses --------------------------------------------------------------------------------------------------------


def _explains_others(case: Case) -> bool:
    """Whether the violation has the same diagnosis in the same program with other numbers. The first numbers with which
    the program still fails decide.
    """
    original = case.violation
    for program in _with_other_numbers(case.program.upto(original.at + 1)):
        try:
            found = case.judge(program).violation
        except Exception:  # invalid operands, which the reference cannot compute
            continue
        if found is not None and (found.at, found.subject, found.observed) == (
            original.at,
            original.subject,
            original.observed,
        ):
            return found.diagnosis == original.diagnosis
    return False


def _with_other_numbers(program: Program) -> Iterator[Program]:
    """Yields the program with other numbers: each distinct number gets its own factor, equal numbers stay equal, zeros
    and signs stay.
    """
    everything = (Leaf, Backward, Grad)
    for sign, kinds in ((1, everything), (1, (Backward, Grad)), (1, (Leaf,)), (-1, everything)):
        changed = replace(program, instructions=tuple(_other_numbers(program, kinds, sign)))
        if changed != program:
            yield changed


def _other_numbers(program: Program, kinds: tuple[type, ...], sign: int) -> Iterator[Instruction]:
    factors: dict[float, float] = {}
    numbers = count(1)

    def other(literal: Literal) -> Literal:
        for x in literal.data:
            if x not in factors:
                factors[x] = (1 + (7 * next(numbers) % 31) / 37) ** sign
        kind = np.dtype(literal.dtype).type
        return replace(literal, data=tuple(float(kind(x * factors[x])) for x in literal.data))

    for step in program:
        if isinstance(step, Leaf) and Leaf in kinds:
            yield replace(step, value=other(step.value))
        elif isinstance(step, (Backward, Grad)) and Backward in kinds:
            yield replace(step, cotangents=tuple(None if c is None else other(c) for c in step.cotangents))
        else:
            yield step


def _is_contradicted(case: Case) -> bool:
    """Whether an earlier call of the program, which returned, must have shown the diagnosed fault in a leaf's gradient
    and was right.
    """
    program, target = case.program, case.target
    for at, step in enumerate(program.instructions[: case.violation.at]):
        if not isinstance(step, BackwardCall) or not isinstance(case.observation[at].outcome, Returned):
            continue
        reference = Reference(program, target.traits)
        tape, _ = tape_before(program, case.observation, reference, target.capabilities, at)
        expected = tape.reference.pullbacks.of(step)
        for fault in graph_faults(tape.reference, step):
            if fault.diagnosis != case.violation.diagnosis:
                continue
            leaves = (edge for edge in expected if edge not in tape.reference.tape.producer)
            if any(not np.allclose(fault.contributions.get(edge, 0.0), expected[edge]) for edge in leaves):
                return True
    return False


def _fails_on_one_path(case: Case) -> bool:
    """Whether the diagnosis is that contributions of several paths are not added, but a call on a value of one path
    alone is wrong in another way: then this path passes on a wrong gradient, or none.
    """
    program, at, diagnosis = case.program, case.violation.at, case.violation.diagnosis
    call = program[at]
    if diagnosis is None or diagnosis.kind not in OF_PATHS or not isinstance(call, Backward):
        return False
    made = [k for k, step in enumerate(program.instructions[:at]) if isinstance(step, Apply) and step.results == 1]
    for root in (Ref(k) for k in made if Ref(k) not in call.roots):
        cotangent = None if not np.shape(case.context.reference.values[root]) else tripled(case, root, None)
        alone = replace(call, roots=(root,), cotangents=(cotangent,))
        try:
            found = case.judge(replaced(program.upto(at + 1), at, alone))
        except Exception:  # a program that the reference cannot compute
            continue
        wrong = found.violation
        if wrong is not None and wrong.diagnosis != diagnosis and not isinstance(wrong.observed, RaisedError):
            return True
    return False


# -- ops --------------------------------------------------------------------------------------------------------------


def _is_not_only_op(case: Case, violation: Violation) -> bool:
    """Whether something other than the op named by the violation may be at fault: the program has an in-place write
    before the failing call, or an earlier call to which the op contributed the right gradient, or, if the rule is not
    about first derivatives, a derivative of the op that an earlier call went through, or several uses of the op.
    """
    if any(isinstance(step, (InPlace, DetachInPlace)) for step in case.program.instructions[: violation.at]):
        return True
    nodes = case.context.tape.nodes.values()
    if violation.rule == slugs.GRADIENTS_OP:
        return any(node.traversals and node.op == violation.op for node in nodes)
    derived = [n for n in nodes if n.derivative and base_op(n.op) == violation.op and n.traversals]
    entries = [e for e in case.context.reference.tape.entries if e.op == violation.op and not _weights(case, e)]
    return bool(derived) or len(entries) > 1


def _weights(case: Case, entry: TapeEntry) -> bool:
    """Whether a tape entry multiplies the result of an op with its cotangent, to make the cotangent differentiable."""
    made = [edge in case.context.reference.tape.producer for edge in entry.args]
    return entry.op == WEIGHTS and made.count(True) == 1
