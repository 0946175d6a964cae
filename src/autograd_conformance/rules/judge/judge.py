"""The judge: compares what was observed with what the rules allow, and stops at the first difference.

It takes program, observation, tape model and reference together, an instruction at a time. Its answer is data: which
rule, at which instruction, what was allowed and what was seen; `rules.explanation` and the reports turn it into prose.
It also counts the rules that the program really put to the test: a rule that nobody exercised is never called passed.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import assert_never, cast

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import (
    WRITING,
    Apply,
    AssignGrad,
    Backward,
    Clip,
    DefaultDtype,
    Delete,
    Detach,
    DetachInPlace,
    Grad,
    Hook,
    InPlace,
    Instruction,
    Leaf,
    Optimizer,
    Program,
    ReadGrad,
    RemoveHook,
    RetainGrad,
    SetRequiresGrad,
    Step,
    ZeroGrad,
)
from autograd_conformance.programs.observations import Kind, Observation, Raised, Returned, Skipped, is_inconclusive
from autograd_conformance.programs.observations import region_steps as units_of
from autograd_conformance.reference.adoption import add_step, adopt_observed, record_step, skip_step
from autograd_conformance.reference.domains import in_domain
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.catalogue import RULES, Level
from autograd_conformance.rules.judge import unspecified as left_open
from autograd_conformance.rules.judge.checks import functional, gradients, hooks, memory, optimizers, unchanged, values
from autograd_conformance.rules.judge.checks import regions as units
from autograd_conformance.rules.judge.checks.contributions import op_of_call
from autograd_conformance.rules.judge.checks.saved_tensors import SavedTensorChecks
from autograd_conformance.rules.judge.choices import choice
from autograd_conformance.rules.judge.judgement import Excuses, Judgement, nothing
from autograd_conformance.rules.judge.state import Judging
from autograd_conformance.rules.violations.expected import DueError, DueReturn, Kept, Unchanged
from autograd_conformance.rules.violations.observed import CotangentWritten, RaisedError, ReturnedUnexpectedly
from autograd_conformance.rules.violations.violation import Allowed, Violation, op_of
from autograd_conformance.tape.graph import Expectation
from autograd_conformance.tape.refusals import Refusal, named, refused
from autograd_conformance.tape.trace import Moment, trace

HARMLESS = (Apply, Detach, ReadGrad, Backward, Grad)
"""Instructions that leave, where they raise, nothing behind but what is seen: others may have done a part of what they
do.
"""
COTANGENT_KEPT = "gradients/cotangent-kept"
"""The rule about what a call is given."""


def judge(
    program: Program,
    observation: Observation,
    reference: Reference,
    capabilities: Collection[Capability],
    excuses: Excuses = nothing,
) -> Judgement:
    """Judge an observation of a program for a framework that has `capabilities`; `reference` computed the program.

    A violation that `excuses` knows does not end the judging where what follows does not depend on it, or the model can
    take over what was seen; where it does end it, the judgement says so.
    """
    ran = units_of(observation)
    judging = Judging.of(program, reference, capabilities, lambda found: excuses(found.within(ran)), ran)
    ended, taken_over = None, 0
    violation, saved_tensors = None, SavedTensorChecks()
    for moment in trace(program, observation, judging.reference, judging.tape, follows=False):
        judged = moment.at
        if is_inconclusive(moment.seen):  # what is not there is not wrong, nor what may be the adapter's
            judging.unspecified = True
            break
        if moment.skipped:  # it needed a value that an earlier error kept from being made
            if not judging.stateful:
                break
            judging.reference.skip(moment.step)
            continue
        gives_unspecified = judging.stateful and _is_unspecified(judging, moment.step)
        if gives_unspecified and left_open.passes_on(judging, moment):
            taken_over += 1
            continue
        if gives_unspecified and not left_open.has_known_outcome(judging, moment.step):
            judging.unspecified = True
            break
        expectation = moment.expectation
        if kind := refused(moment.seen, expectation, judging.capabilities):
            judging.refusals.append(Refusal.of(cast(Raised, moment.seen.outcome), kind))
            moment.seen = named(moment.seen, expectation, judging.capabilities)
        open_ = _is_open(moment, gives_unspecified)
        counts = not open_ or _is_due_error(moment)
        informative = [rule for rule in expectation.raises.values() if RULES[rule].level is Level.INFO]
        judging.exercise(dict.fromkeys((*(expectation.exercises if counts else ()), *informative)))
        if open_:  # the rules do not say what its return means
            if not left_open.takes_over(judging, moment):
                judging.unspecified = True
                break
            taken_over += 1
            continue
        violation = _check(judging, moment)
        if violation is None and (chosen := choice(moment)):
            judging.choices[chosen] += 1
        if judging.unspecified and moment.seen.region:
            break
        if not (violation or judging.went_on or taken_over):  # how many are alive is not known behind a difference
            violation = saved_tensors.check(judging, moment.at, moment.step, expectation, moment.seen)
            violation = None if violation and judging.goes_on(violation) else violation
        if violation:
            violation = violation.within(ran)
            if excuses(violation):
                violation, ended = None, violation
            break
    else:
        judged = len(program)
    unspecified = judging.unspecified or taken_over > 0
    return Judgement(
        violation, judging.exercised, unspecified, ended, judged - taken_over, judging.choices, tuple(judging.refusals)
    )


def _is_unspecified(judging: Judging, step: Instruction) -> bool:
    """Whether an instruction uses a value or a gradient of which the rules leave open what it is."""
    reference = judging.reference
    return judging.unspecified or reference.unspecified or reference.storages.uses_unspecified(step)


def _is_open(moment: Moment, gives_unspecified: bool) -> bool:
    """Whether the rules leave open what the outcome of an instruction brings about: that of a call, too, that may
    return or may raise as it did, but goes through values whose elements are unspecified.
    """
    expectation = moment.expectation
    match moment.seen.outcome:
        case Returned():
            return expectation.unspecified or (gives_unspecified and expectation.returns is not None)
        case Raised() | Skipped():
            return gives_unspecified
        case _:
            assert_never(moment.seen.outcome)


def _is_due_error(moment: Moment) -> bool:
    """Whether an instruction raised an error that it may raise."""
    outcome = moment.seen.outcome
    return isinstance(outcome, Raised) and outcome.kind in moment.expectation.raises


# -- outcomes ---------------------------------------------------------------------------------------------------------


def _check(judging: Judging, moment: Moment) -> Violation | None:
    """Whether the outcome of an instruction is allowed, and what it brought about."""
    if moment.seen.mutated and judging.applies(COTANGENT_KEPT):
        allowed = (Allowed(Unchanged(Kept.COTANGENT), COTANGENT_KEPT),)
        return Violation(COTANGENT_KEPT, moment.at, CotangentWritten(moment.seen.mutated[0]), allowed)
    match moment.seen.outcome:
        case Returned(results):
            if moment.expectation.returns is None:
                return _unexpected_return(judging, moment)
            return _check_return(judging, moment, results)
        case Raised() as raised if len(moment.seen.region) > 1:
            return units.check_error(judging, moment, raised)
        case Raised() as raised:
            if raised.kind not in moment.expectation.raises:
                return _unexpected_error(judging, moment, raised)
            violation = _check_error(judging, moment, raised)
            if judging.stateful:
                skip_step(judging.reference, moment.at, moment.step, moment.seen)
            return violation
        case Skipped():
            return None
        case _:
            assert_never(moment.seen.outcome)


def _unexpected_return(judging: Judging, moment: Moment) -> Violation | None:
    """An instruction returned that must not; a rule by which it may raise says nothing against that."""
    for rule in moment.expectation.raises.values():
        if judging.applies(rule) and RULES[rule].level is not Level.INFO:
            allowed = _allowed(moment.expectation)
            violation = Violation(rule, moment.at, ReturnedUnexpectedly(), allowed, op=op_of(moment.step))
            return None if _goes_through_freed(moment) and _left(judging, moment, violation) else violation
    judging.unspecified = True  # what it should have refused, it does not claim to
    return None


def _goes_through_freed(moment: Moment) -> bool:
    """Whether a call that adds to leaves was due to raise only because its graph is freed: what it does where it does
    not raise is known.
    """
    step = moment.step
    return isinstance(step, Backward) and not step.create_graph and {*moment.expectation.raises} == {Kind.GRAPH_FREED}


def _left(judging: Judging, moment: Moment, violation: Violation) -> bool:
    """Whether a violation is excused; then the reference takes over what was seen."""
    if not judging.excused(violation):
        return False
    if judging.stateful:
        record_step(judging.reference, moment.at, moment.step, moment.modes, moment.seen)
    return True


def _unexpected_error(judging: Judging, moment: Moment, raised: Raised) -> Violation | None:
    """An instruction raised an error that it may not raise."""
    expectation = moment.expectation
    rule = expectation.returns or next(iter(expectation.raises.values()))
    outside = judging.stateful and not in_domain(
        moment.step, judging.reference.values
    )  # nobody says what an op does there
    # Nor is it specified by which error a region with such a write is refused.
    open_ = expectation.unspecified and moment.seen.region
    if outside or open_ or not judging.applies(rule):
        judging.unspecified = True
        return None
    op = op_of(moment.step) or op_of_call(expectation.traversal)
    violation = Violation(rule, moment.at, RaisedError.of(raised), _allowed(expectation), op=op)
    # an error of another kind than is due comes again, and then by whatever rule says which
    left = isinstance(moment.step, HARMLESS) and expectation.returns is not None and _left(judging, moment, violation)
    return None if left else violation


def _allowed(expectation: Expectation) -> tuple[Allowed, ...]:
    """The outcomes that are allowed, each with its rule."""
    returns = (Allowed(DueReturn(), expectation.returns),) if expectation.returns else ()
    return (*returns, *(Allowed(DueError(kind), rule) for kind, rule in expectation.raises.items()))


def _check_error(judging: Judging, moment: Moment, raised: Raised) -> Violation | None:
    """What an instruction that raised, as it may, left behind."""
    at, step, seen = moment.at, moment.step, moment.seen
    if isinstance(step, InPlace):
        return unchanged.check_refused_write(judging, at, step, seen)
    if isinstance(step, (Backward, Grad)):
        return unchanged.check_failed_call(judging, at, step, moment.expectation, raised, seen)
    return None


# -- what an instruction brought about --------------------------------------------------------------------------------


def _check_return(judging: Judging, moment: Moment, results: values.Values) -> Violation | None:
    """What an instruction that returned, as it may, did: calls before the reference takes over what was seen, the rest
    after it.
    """
    at, step, seen, expectation = moment.at, moment.step, moment.seen, moment.expectation
    violation = None
    if isinstance(step, (Backward, Grad)):
        violation = hooks.check(judging, at, step, expectation, seen)
    if isinstance(step, Backward) and not violation:
        violation = gradients.check(judging, at, step, expectation, seen)
    if violation:
        return violation
    if judging.stateful:
        judging.before = dict(judging.reference.values) if isinstance(step, WRITING) else {}
        add_step(judging.reference, at, step, moment.modes, seen)
        if judging.reference.unspecified:
            return None  # what this made is not known
    if moment.seen.region:
        violation = units.check_end(judging, moment)
    else:
        violation = _check_results(judging, moment, results)
    if judging.stateful and not violation:
        adopt_observed(judging.reference, at, step, seen)
    return violation


def _check_results(judging: Judging, moment: Moment, results: values.Values) -> Violation | None:
    """The values and gradients that there are after an instruction."""
    at, step, seen = moment.at, moment.step, moment.seen
    match step:
        case Apply() | Leaf() | Detach() | ReadGrad():
            return values.check_made(judging, at, step, results)
        case Grad():
            return functional.check(judging, at, step, results, moment.expectation, seen)
        case AssignGrad():
            return unchanged.check_assigned(judging, at, step, seen)
        case Step():
            violation = optimizers.check_step(judging, at, step, results, seen)
            violation = violation or values.check_elsewhere(judging, at, step, seen)
            violation = violation or optimizers.check_aliases(judging, at, step, seen)
            return violation or memory.check_kept(judging, at, step, seen)
        case Clip():
            return optimizers.check_clip(judging, at, step, seen)
        case InPlace():
            return values.check_written(judging, at, step, seen) or memory.check_kept(judging, at, step, seen)
        case ZeroGrad():
            return unchanged.check_cleared(judging, at, step, seen)
        case DetachInPlace():
            violation = unchanged.check_gradients(judging, at, step, seen)
            violation = violation or values.check_detached(judging, at, step, seen)
            return violation or memory.check_kept(judging, at, step, seen)
        case SetRequiresGrad() | RetainGrad() | Hook() | RemoveHook() | Optimizer() | DefaultDtype():
            return unchanged.check_gradients(judging, at, step, seen)
        case Delete(deleted):
            memory.forget(judging, deleted)
            return None
        case Backward():
            return None  # calls are checked before
        case _:
            assert_never(step)
