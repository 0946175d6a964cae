"""The judge: compares an observation with the outcomes that the rules allow, and stops at the first difference.

It steps through program, observation, tape model and reference together. Its result is data: the rule that was
violated, the instruction, the allowed outcomes and the observed one. `rules.explanation` and the reports turn that data
into prose. The judge also counts the rules that the program put to the test, because a rule that no program exercised
must never be reported as passed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import assert_never, cast

from autograd_conformance.programs import slugs
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import (
    WRITING,
    Apply,
    AssignGrad,
    Backward,
    Clip,
    Delete,
    Detach,
    DetachInPlace,
    Grad,
    InPlace,
    Instruction,
    Leaf,
    Program,
    ReadGrad,
    Step,
    ZeroGrad,
    casts,
)
from autograd_conformance.programs.observations import (
    Kind,
    Observation,
    Raised,
    Returned,
    Skipped,
    is_inconclusive,
    region_steps,
)
from autograd_conformance.programs.slugs import Slug
from autograd_conformance.reference.adoption import add_step, adopt_observed, record_step, skip_step
from autograd_conformance.reference.domains import is_smooth
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.catalogue import RULES, Level
from autograd_conformance.rules.judge.checks import (
    functional,
    gradients,
    hooks,
    memory,
    optimizers,
    regions,
    unchanged,
    values,
)
from autograd_conformance.rules.judge.checks.cancellation import judge_cancellation
from autograd_conformance.rules.judge.checks.contributions import op_of_call
from autograd_conformance.rules.judge.checks.digits import judge_digits
from autograd_conformance.rules.judge.checks.elements import judge_elements
from autograd_conformance.rules.judge.checks.kinks import OtherRuns, judge_kinks, no_other_runs
from autograd_conformance.rules.judge.checks.saved_tensors import SavedTensorChecks
from autograd_conformance.rules.judge.checks.tails import judge_tail
from autograd_conformance.rules.judge.choices import choice
from autograd_conformance.rules.judge.finding import End, Finding, Unspecified, violation_of, with_violation
from autograd_conformance.rules.judge.judgement import Judgement, Waiver, waives_nothing
from autograd_conformance.rules.judge.state import Judging
from autograd_conformance.rules.judge.unspecified import (
    adopt_call,
    adopt_results,
    can_adopt_call,
    can_adopt_results,
    has_known_outcome,
)
from autograd_conformance.rules.violations.expected import ExpectedError, ExpectedReturn, Kept, Unchanged
from autograd_conformance.rules.violations.observed import CotangentWritten, RaisedError, ReturnedUnexpectedly
from autograd_conformance.rules.violations.violation import Allowed, Violation, op_of
from autograd_conformance.tape.graph import Expectation
from autograd_conformance.tape.refusals import Refusal, kind_of_unknown_error, with_known_kind
from autograd_conformance.tape.trace import TraceStep, trace

HARMLESS = (Apply, Detach, ReadGrad, Backward, Grad)
"""Instructions that have no effects but observed ones if they raise. Other instructions may have been carried out in
part before they raised.
"""
COTANGENT_KEPT = slugs.GRADIENTS_COTANGENT_KEPT
"""The rule that calls leave their cotangents unchanged."""


def judge(
    program: Program,
    observation: Observation,
    reference: Reference,
    capabilities: Collection[Capability],
    waives: Waiver = waives_nothing,
    others: OtherRuns = no_other_runs,
) -> Judgement:
    """Judges an observation of a program, for a framework that claims `capabilities`; `reference` has computed the
    program.

    If `waives` waives a violation, judging continues where the following instructions do not depend on the violation,
    or where the model of the graph can adopt the observed state. Otherwise judging ends there, and `Judgement.ended_by`
    holds the violation.

    `others` runs a program in other ways, for rules that compare runs.

    Judging ends before the first instruction under autocast: such programs are compared with others.
    """
    uncast = next((at for at, modes in enumerate(program.modes) if casts(modes)), len(program))
    is_whole, program, observation = uncast == len(program), program.upto(uncast), observation[:uncast]
    regions_run = region_steps(observation)
    judging = Judging.of(program, reference, capabilities, waives, regions_run)
    violation: Violation | None = None
    judged = len(program)
    saved_tensors = SavedTensorChecks()
    for traced in trace(program, observation, judging.reference, judging.tape, follows=False):
        match _judge_instruction(judging, traced, saved_tensors):
            case None:
                continue
            case Unspecified(violation):
                judging.unspecified = True
                if violation is None:
                    continue
            case Violation() as violation:
                pass
            case End(unspecified):
                judging.unspecified |= unspecified
            case finding:
                assert_never(finding)
        judged = traced.at
        break
    violation = violation or judge_tail(judging, observation) or judge_elements(judging, observation)
    violation = judge_cancellation(judging, violation or judge_digits(judging, observation))
    violation = violation or judge_kinks(judging, observation, others)
    waived = violation is not None and judging.waive(violation)
    return Judgement(
        None if violation is None or waived else violation.in_regions(regions_run),
        judging.exercised,
        judging.unspecified or judging.adopted > 0 or not is_whole,
        judging.waived[-1] if waived else None,
        tuple(judging.waived),
        judged - judging.adopted,
        judging.choices,
        tuple(judging.refusals),
    )


def _judge_instruction(judging: Judging, traced: TraceStep, saved_tensors: SavedTensorChecks) -> Finding | End:
    """Judges one instruction, and returns what it found or why judging ends there."""
    if is_inconclusive(traced.observed):  # neither missing results nor adapter bugs break a rule
        return End(unspecified=True)
    if traced.skipped:  # an earlier error prevented a value that it needs
        if not judging.stateful:
            return End(unspecified=False)
        judging.reference.skip(traced.step)
        return None
    gives_unspecified = judging.stateful and _is_unspecified(judging, traced.step)
    if gives_unspecified and can_adopt_results(judging, traced.step):
        adopt_results(judging, traced)
        return None
    if gives_unspecified and not has_known_outcome(judging, traced.step):
        return End(unspecified=True)
    if isinstance(traced.observed.outcome, Raised):
        _identify_refusal(judging, traced)
    if _is_outcome_unspecified(traced, gives_unspecified):  # the rules do not specify the effects of its return
        _exercise(judging, traced, traced.expectation.exercises if _is_expected_error(traced) else ())
        if not can_adopt_call(judging, traced):
            return End(unspecified=True)
        adopt_call(judging, traced)
        return None
    before = len(judging.waived)
    finding = _judge_outcome(judging, traced)
    violation = violation_of(finding)
    _exercise(judging, traced, _tested_rules(traced, violation, judging.waived[before:]))
    if violation is None and (chosen := choice(traced)):
        judging.choices[chosen] += 1
    if traced.observed.region and (judging.unspecified or isinstance(finding, Unspecified)):
        return violation or End(unspecified=True)
    return with_violation(finding, None if violation else _judge_count(judging, traced, saved_tensors))


def _judge_count(judging: Judging, traced: TraceStep, saved_tensors: SavedTensorChecks) -> Violation | None:
    """Returns the violation, unless it is waived, if the number of live saved tensors is wrong after an instruction.
    After an earlier difference, the right number is unknown.
    """
    if judging.waived or judging.adopted:
        return None
    violation = saved_tensors.judge(judging, traced.at, traced.step, traced.expectation, traced.observed)
    return None if violation and judging.waive_form(violation) else violation


def _identify_refusal(judging: Judging, traced: TraceStep) -> None:
    """Gives an error that the adapter cannot classify the kind of the error that the rules expect there, if they expect
    one.
    """
    if kind := kind_of_unknown_error(traced.observed, traced.expectation, judging.capabilities):
        raised = cast(Raised, traced.observed.outcome)
        if raised.kind is Kind.UNKNOWN:
            judging.refusals.append(Refusal.of(raised, kind))
        traced.observed = with_known_kind(traced.observed, traced.expectation, judging.capabilities)


def _exercise(judging: Judging, traced: TraceStep, rules: Iterable[Slug]) -> None:
    """Counts the rules that an instruction put to the test, and those of level INFO, which are never judged."""
    informative = [rule for rule in traced.expectation.raises.values() if RULES[rule].level is Level.INFO]
    judging.exercise(dict.fromkeys((*rules, *informative)))


def _tested_rules(traced: TraceStep, violation: Violation | None, waived: Sequence[Violation]) -> Sequence[Slug]:
    """Returns the rules that an instruction put to the test. Where it broke a rule, only this one: what others say
    about it was not compared. Where it raised but could have returned, only the rule that allows the error.
    """
    expectation, outcome = traced.expectation, traced.observed.outcome
    if violation is not None:
        return [violation.rule]
    if not isinstance(outcome, Raised):
        return expectation.exercises
    if outcome.kind not in expectation.raises:
        return [each.rule for each in waived]
    return expectation.exercises if expectation.returns is None else [expectation.raises[outcome.kind]]


def _is_unspecified(judging: Judging, step: Instruction) -> bool:
    """Whether an instruction uses a value or a gradient that the rules do not specify."""
    reference = judging.reference
    if isinstance(step, Step | Clip) and not all(map(reference.has_specified_grad, step.leaves)):
        return True
    return judging.unspecified or reference.unspecified or reference.storages.uses_unspecified(step)


def _is_outcome_unspecified(traced: TraceStep, gives_unspecified: bool) -> bool:
    """Whether the rules do not specify the effects of the observed outcome. Also true for a call that returns, or
    raises as it may, but goes through values whose elements are unspecified.
    """
    expectation = traced.expectation
    match traced.observed.outcome:
        case Returned():
            return expectation.unspecified or (gives_unspecified and expectation.returns is not None)
        case Raised() | Skipped():
            return gives_unspecified
        case _:
            assert_never(traced.observed.outcome)


def _is_expected_error(traced: TraceStep) -> bool:
    """Whether an instruction raised an error that it may raise."""
    outcome = traced.observed.outcome
    return isinstance(outcome, Raised) and outcome.kind in traced.expectation.raises


# -- outcomes ---------------------------------------------------------------------------------------------------------


def _judge_outcome(judging: Judging, traced: TraceStep) -> Finding:
    """Judges the outcome and the effects of an instruction, and lets the reference record the instruction if the right
    values depend on what is observed.
    """
    if traced.observed.mutated and judging.applies(COTANGENT_KEPT):
        allowed = (Allowed(Unchanged(Kept.COTANGENT), COTANGENT_KEPT),)
        return Violation(COTANGENT_KEPT, traced.at, CotangentWritten(traced.observed.mutated[0]), allowed)
    match traced.observed.outcome:
        case Returned(results):
            if traced.expectation.returns is None:
                return _unexpected_return(judging, traced)
            return _judge_return(judging, traced, results)
        case Raised() as raised if len(traced.observed.region) > 1:
            return regions.judge_error(judging, traced, raised)
        case Raised() as raised:
            if raised.kind not in traced.expectation.raises:
                return _unexpected_error(judging, traced, raised)
            finding = _check_error(judging, traced, raised)
            if judging.stateful:
                skip_step(judging.reference, traced.at, traced.step, traced.observed)
            return finding
        case Skipped():
            return None
        case _:
            assert_never(traced.observed.outcome)


def _unexpected_return(judging: Judging, traced: TraceStep) -> Finding:
    """Judges an instruction that returned and must raise: returns its violation, unless it is waived. A rule by which
    the instruction only may raise allows a return.
    """
    for rule in traced.expectation.raises.values():
        if judging.applies(rule) and RULES[rule].level is not Level.INFO:
            allowed = _allowed(traced.expectation)
            violation = Violation(rule, traced.at, ReturnedUnexpectedly(), allowed, op=op_of(traced.step))
            return None if _goes_through_freed(traced) and _waive_and_adopt(judging, traced, violation) else violation
    return Unspecified()  # the framework does not claim to refuse this


def _goes_through_freed(traced: TraceStep) -> bool:
    """Whether a call that adds to leaves had to raise only because its graph is freed. The effects of such a call are
    known even if it returns.
    """
    step = traced.step
    return isinstance(step, Backward) and not step.create_graph and {*traced.expectation.raises} == {Kind.GRAPH_FREED}


def _waive_and_adopt(judging: Judging, traced: TraceStep, violation: Violation) -> bool:
    """Waives a violation, if it is a known difference, and lets the reference adopt the observed state; returns whether
    the violation was waived.
    """
    if not judging.waive(violation):
        return False
    if judging.stateful:
        record_step(judging.reference, traced.at, traced.step, traced.modes, traced.observed)
    return True


def _unexpected_error(judging: Judging, traced: TraceStep, raised: Raised) -> Finding:
    """Judges an instruction that raised an error that it may not raise: returns its violation, unless it is waived."""
    expectation = traced.expectation
    rule = expectation.returns or next(iter(expectation.raises.values()))
    # the rules specify neither an op where it is not smooth, nor the error of a region with an unspecified write
    outside = judging.stateful and not is_smooth(traced.step, judging.reference.values)
    outcome_unspecified = expectation.unspecified and traced.observed.region
    if outside or outcome_unspecified or not judging.applies(rule):
        return Unspecified()
    op = op_of(traced.step) or op_of_call(expectation.traversal)
    violation = Violation(rule, traced.at, RaisedError.of(raised), _allowed(expectation), op=op)
    # not waived if the call must raise: later calls raise the same other error, and break other rules
    left = (
        isinstance(traced.step, HARMLESS)
        and expectation.returns is not None
        and _waive_and_adopt(judging, traced, violation)
    )
    return None if left else violation


def _allowed(expectation: Expectation) -> tuple[Allowed, ...]:
    """Returns the outcomes that an expectation allows, each with its rule."""
    returns = (Allowed(ExpectedReturn(), expectation.returns),) if expectation.returns else ()
    return (*returns, *(Allowed(ExpectedError(kind), rule) for kind, rule in expectation.raises.items()))


def _check_error(judging: Judging, traced: TraceStep, raised: Raised) -> Finding:
    """Returns the violation if an instruction that may raise, and did, had an effect that it must not have."""
    at, step, observed = traced.at, traced.step, traced.observed
    if isinstance(step, InPlace):
        return unchanged.check_refused_write(judging, at, step, observed)
    if isinstance(step, (Backward, Grad)):
        return unchanged.check_failed_call(judging, at, step, traced.expectation, raised, observed)
    return None


# -- what an instruction brought about --------------------------------------------------------------------------------


def _judge_return(judging: Judging, traced: TraceStep, results: values.Values) -> Finding:
    """Judges the effects of an instruction that may return, and did. Calls are checked before the reference records the
    instruction, all others after it.
    """
    at, step, observed, expectation = traced.at, traced.step, traced.observed, traced.expectation
    violation: Violation | None = None
    if isinstance(step, (Backward, Grad)):
        violation = hooks.check(judging, at, step, expectation, observed)
    if isinstance(step, Backward) and not violation:
        violation = gradients.judge_call(judging, at, step, expectation, observed)
    if violation:
        return violation
    if judging.stateful:
        judging.values_before = dict(judging.reference.values) if isinstance(step, WRITING) else {}
        add_step(judging.reference, at, step, traced.modes, observed)
        if judging.reference.unspecified:
            return None  # the results are unknown
    if traced.observed.region:
        finding: Finding = regions.judge_values(judging, traced)
    else:
        finding = _judge_results(judging, traced, results)
    if judging.stateful and not violation_of(finding):
        adopt_observed(judging.reference, at, step, observed)
    return finding


def _judge_results(judging: Judging, traced: TraceStep, results: values.Values) -> Finding:
    """Judges the values and gradients that an instruction left, and notes the dtype, strides and memory of the values
    that it made.
    """
    at, step, observed = traced.at, traced.step, traced.observed
    match step:
        case Apply():
            violation = memory.judge_moved(judging, at, step, observed)
            return violation or values.judge_made(judging, at, step, results)
        case Leaf() | Detach() | ReadGrad():
            return values.judge_made(judging, at, step, results)
        case Grad():
            return functional.judge_call(judging, at, step, results, traced.expectation, observed)
        case AssignGrad():
            return unchanged.check_assigned(judging, at, step, observed)
        case Step():
            violation = optimizers.check_step(judging, at, step, results, observed)
            violation = violation or values.check_elsewhere(judging, at, step, observed)
            violation = violation or optimizers.check_aliases(judging, at, step, observed)
            violation = violation or memory.judge_moved(judging, at, step, observed)
            return Unspecified(violation) if optimizers.is_unspecified(judging, step) else violation
        case Clip():
            return optimizers.check_clip(judging, at, step, observed)
        case InPlace():
            violation = values.check_written(judging, at, step, observed)
            return violation or memory.judge_moved(judging, at, step, observed)
        case ZeroGrad():
            return unchanged.check_cleared(judging, at, step, observed)
        case DetachInPlace():
            violation = unchanged.check_gradients(judging, at, step, observed)
            violation = violation or values.check_detached(judging, at, step, observed)
            return violation or memory.judge_moved(judging, at, step, observed)
        case Delete(deleted):
            memory.forget(judging, deleted)
            return None
        case Backward():
            return None  # calls were checked before
        case _:
            return unchanged.check_gradients(judging, at, step, observed)
