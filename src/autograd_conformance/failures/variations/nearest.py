"""Finds the first variation of a failing program that passes: one change after which the failing comparison is still
made and succeeds.

A reduced program passes without any of its lines, which says nothing. A change that keeps the comparison and removes
the failure is often the shortest description of the bug.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain, islice

from autograd_conformance.checking.check import violation_of
from autograd_conformance.checking.support.unsupported import unsupported_forms
from autograd_conformance.failures.case import Case
from autograd_conformance.failures.judged import Judged
from autograd_conformance.failures.variations.candidates import Variations, candidates
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.ops.needs import needs
from autograd_conformance.programs import slugs
from autograd_conformance.programs.editing import is_valid, replaced, with_modes, without
from autograd_conformance.programs.language import (
    Apply,
    Backward,
    BackwardCall,
    Clip,
    Grad,
    Hook,
    Instruction,
    Leaf,
    Program,
    Ref,
    Shape,
    Step,
    ZeroGrad,
)
from autograd_conformance.programs.observations import Kind, Observation, Raised, Returned
from autograd_conformance.programs.operands import operands, results
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.explanation.context import tape_before
from autograd_conformance.rules.violations.expected import ExpectedError
from autograd_conformance.rules.violations.observed import RaisedError
from autograd_conformance.rules.violations.violation import Violation
from autograd_conformance.tape.graph import Expectation
from autograd_conformance.tape.model import Tape

MAX_VARIATIONS = 40
"""Maximum number of variations (changed programs that may pass) that are tried for one failure."""

MAX_LINES = 600
"""Maximum number of lines of all variations together, so that fewer variations of a long program are tried."""


def nearest(case: Case) -> str | None:
    """Returns a phrase about the first informative variation that passes, such as "passes with foreach=False on line
    3".

    None if there is no such variation before the case's deadline, or if the program itself passes when it is run again.
    """
    program = case.program.upto(case.violation.at + 1)
    for words, target in case.target.simpler_modes().items():
        if violation_of(program, target) is None:
            return f"passes {words}"
    shapes = _shapes(case.observation)
    informative = candidates(program, shapes, case.target.ops)
    weaker = simplifications(program, case.violation.subject)
    found = chain(((text, each, False) for text, each in informative), ((text, each, True) for text, each in weaker))
    for text, changed, by_rule in islice(found, min(MAX_VARIATIONS, MAX_LINES // len(program))):
        if case.is_over():
            return None
        if _is_usable(changed, program, case.target) and _passes(case.judge, changed, case, by_rule):
            fails_again = case.judge_again(program).violation is not None
            return f"passes {text}" if fails_again and _passes(case.judge_again, changed, case, by_rule) else None
    return None


def _is_usable(changed: Program, program: Program, target: Target) -> bool:
    """Whether a variation differs from the program, is valid, and needs nothing that the framework does not have."""
    if not changed.instructions or changed == program or not is_valid(changed):
        return False
    ops = {step.op for step in changed if isinstance(step, Apply)}
    dtypes = {step.value.dtype for step in changed if isinstance(step, Leaf)}
    has = ops <= {*target.ops} and dtypes <= {*target.dtypes} and not unsupported_forms(changed, target)
    return has and needs(changed) <= target.capabilities | needs(program)


def _shapes(observation: Observation) -> dict[Ref, Shape]:
    """Returns the shape of each value that was observed."""
    made = (
        (at, observed.outcome.values)
        for at, observed in enumerate(observation)
        if isinstance(observed.outcome, Returned)
    )
    return {Ref(at, k): each.value.shape for at, values in made for k, each in enumerate(values) if each is not None}


# -- whether a variation is informative -------------------------------------------------------------------------------


def _passes(judge: Callable[[Program], Judged], changed: Program, case: Case, by_rule: bool) -> bool:
    """Whether a variation breaks no rule and still makes the comparison that failed in the original program; with
    `by_rule`, only a comparison under the same rule counts.
    """
    try:
        judged = judge(changed)
        violation = judged.violation
    except Exception:  # invalid operands, which the reference cannot compute
        return False
    return violation is None and judged.is_smooth and _compares_failure(judged, case, by_rule)


def _compares_failure(judged: Judged, case: Case, by_rule: bool) -> bool:
    """Whether the last instruction of a passing variation makes the comparison that failed in the original program."""
    changed, observation = judged.program, judged.observation
    violation, last = case.violation, len(changed) - 1
    if isinstance(observation[last].outcome, Raised) != _has_to_raise(case):
        return False
    if _errors(observation[:last]) != _errors(case.observation[: violation.at]):
        return False  # another error comes first
    if RULES[violation.rule].family == slugs.MODES and len(changed) > violation.at + 1:
        return False  # an inserted line has no mode and ends its block
    tape, expectation = _end(judged)
    if violation.rule in expectation.exercises or _has_to_raise(case):
        return True
    if isinstance(violation.observed, RaisedError):
        return _has_effect(changed[last], tape, expectation)
    return (
        not by_rule
        and _has_effect(changed[last], tape, expectation)
        and _compares_leaf(changed, case, tape, expectation)
    )


def _errors(observation: Observation) -> list[Kind]:
    """Returns the kinds of the errors that instructions raised."""
    return [observed.outcome.kind for observed in observation if isinstance(observed.outcome, Raised)]


def _end(judged: Judged) -> tuple[Tape, Expectation]:
    program, target = judged.program, judged.target
    reference = Reference(program, target.traits)
    return tape_before(program, judged.observation, reference, target.capabilities, len(program) - 1)


def _has_to_raise(case: Case) -> bool:
    """Whether the failing line must raise an error, or raised an allowed error and left something wrong."""
    violation = case.violation
    must_raise = all(isinstance(allowed.expected, ExpectedError) for allowed in violation.allowed)
    return must_raise or (violation.subject is not None and isinstance(case.observation[violation.at].outcome, Raised))


def _has_effect(step: Instruction, tape: Tape, expectation: Expectation) -> bool:
    """Whether the instruction has something to do: a call reaches a gradient edge, or a leaf of an optimizer step or of
    clipping has a `.grad`.
    """
    match step:
        case Backward() | Grad():
            return bool(expectation.traversal.must_reach)
        case Step(leaves) | Clip(leaves):
            return tape.holds_any(leaves)
        case _:
            return True


def _compares_leaf(changed: Program, case: Case, tape: Tape, expectation: Expectation) -> bool:
    """Whether the last instruction of the variation compares the leaf that the failure is about. The leaf is identified
    by its position among the leaves, as the variation may change instruction numbers.
    """
    violation, program = case.violation, case.program
    if _is_about_rule(violation, program):
        return False
    if violation.subject not in program.leaves or len(changed.leaves) != len(program.upto(violation.at + 1).leaves):
        return True
    leaf = changed.leaves[program.leaves.index(violation.subject)]
    match changed[len(changed) - 1]:
        case Backward() | Grad():
            return leaf in expectation.traversal.must_reach
        case Step() | Clip():
            lacked_grad = case.observation[violation.at].gradients.get(violation.subject) is None
            return lacked_grad == (tape.grads.get(leaf) is None)
        case _:
            return True


def _is_about_rule(violation: Violation, program: Program) -> bool:
    """Whether only the failure's own rule compares the value that the failure is about, such as a hook or a flag."""
    subject = violation.subject
    return violation.want is None or (subject is not None and isinstance(program[subject.at], Hook))


# -- changes that count only if the same rule is still compared, as a reduced program passes without any line ----------


def simplifications(program: Program, subject: Ref | None = None) -> Variations:
    """Yields the program with another retain_graph, without a line or a mode, from the last to the first, or without an
    option. The line that made `subject`, the value that the failure is about, stays.
    """
    last = len(program) - 1
    for at, step in enumerate(program):
        if isinstance(step, BackwardCall):
            for keep in (True, False):
                if at != last and bool(step.retain_graph) != keep:
                    changed = replace(step, retain_graph=keep)
                    yield f"with retain_graph={keep} on line {at + 1}", replaced(program, at, changed)
    yield from _less(program, subject)
    yield from _options(program)


def _less(program: Program, subject: Ref | None) -> Variations:
    """Yields the program without an instruction whose results, if any, are not used, and without a grad mode."""
    used = {ref for step in program for ref in operands(step)}
    for at, step in reversed(list(enumerate(program.instructions[:-1]))):
        makes = range(results(step))
        idle = isinstance(step, (Grad, Hook)) and not any(Ref(at, k) in used for k in makes)
        if (idle or not makes) and (subject is None or at != subject.at):
            yield f"without line {at + 1}", without(program, at)
    for at, modes in enumerate(program.modes):
        if modes:
            yield f"without the grad mode on line {at + 1}", with_modes(program, at, ())


def _options(program: Program) -> Variations:
    for at, step in enumerate(program):
        if isinstance(step, BackwardCall):
            if step.retain_graph is not None:
                changed = replace(step, retain_graph=None)
                yield f"with retain_graph left out on line {at + 1}", replaced(program, at, changed)
            if step.create_graph and not any(ref.at == at for later in program for ref in operands(later)):
                changed = replace(step, create_graph=False, retain_graph=step.retains)
                yield f"without create_graph on line {at + 1}", replaced(program, at, changed)
        elif isinstance(step, ZeroGrad):
            to = "zeros" if step.set_to_none else "none"
            other = replace(step, set_to_none=not step.set_to_none)
            yield f"with clearing to {to} on line {at + 1}", replaced(program, at, other)
