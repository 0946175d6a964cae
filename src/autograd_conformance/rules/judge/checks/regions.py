"""Checks of regions, groups of instructions that run as one compiled or checkpointed function: an error belongs to the
whole region, and values are observed only after the region ran.
"""

from __future__ import annotations

from copy import deepcopy

from autograd_conformance.programs import slugs
from autograd_conformance.programs.language import Apply, Detach, InPlace, Leaf, Ref
from autograd_conformance.programs.observations import Kind, Raised, Returned, StepObservation, Tensor
from autograd_conformance.programs.operands import results
from autograd_conformance.reference.adoption import record_step, skip_step
from autograd_conformance.reference.domains import is_smooth
from autograd_conformance.rules.judge.checks.memory import judge_region_result
from autograd_conformance.rules.judge.checks.values import check_dtype, expected_dtype, judge_flag, value_violation
from autograd_conformance.rules.judge.finding import Finding, Unspecified
from autograd_conformance.rules.judge.state import Judging
from autograd_conformance.rules.violations.expected import ExpectedReturn
from autograd_conformance.rules.violations.observed import RaisedError
from autograd_conformance.rules.violations.violation import Allowed, Violation
from autograd_conformance.tape.model import Tape
from autograd_conformance.tape.trace import TraceStep
from autograd_conformance.tape.versions import version_mismatch


def judge_error(judging: Judging, traced: TraceStep, raised: Raised) -> Finding:
    """Returns the violation if no instruction of a region (instructions that ran as one compiled or checkpointed
    function) may raise the error that the region raised. If the region may raise it, marks the values that the region
    may have written to as unspecified, because it is unknown how many of its writes were carried out.
    """
    tape = deepcopy(judging.tape)  # the effects of the region, had it not raised
    for at in range(traced.at, traced.observed.region[-1] + 1):
        step, modes = judging.program[at], judging.program.mode(at)
        # An instruction that did not run needed a value that an earlier error had kept from being made.
        if at not in traced.observed.region and not isinstance(step, Leaf):
            tape.reference.skip(step)
            continue
        outside = judging.stateful and not is_smooth(step, tape.reference.values)  # the op is undefined there
        if outside or tape.reference.storages.uses_unspecified(step):  # it was not observed, and may be a view
            return Unspecified()
        expectation = tape.expect(at, step, modes)
        if raised.kind in expectation.raises:
            return _leave_out(judging, traced, tape)
        if expectation.unspecified:  # its effects are unspecified, and so are the region's errors
            return Unspecified()
        observed = StepObservation(Returned((None,) * results(step)))
        record_step(tape.reference, at, step, modes, observed)
        tape.record(at, step, expectation, observed, modes)
    if raised.kind is Kind.MODIFIED and _is_invalidated(tape, traced):
        return _leave_out(judging, traced, tape)
    rule = slugs.ERRORS_LEGAL_RETURNS
    if not judging.applies(rule):
        return Unspecified()
    return Violation(rule, traced.at, RaisedError.of(raised), (Allowed(ExpectedReturn(), rule),))


def _leave_out(judging: Judging, traced: TraceStep, tape: Tape) -> Unspecified | None:
    """Lets the reference leave out a region that raised as it may, if the right values depend on what is observed; else
    what follows is unspecified. A region is several instructions that ran as one compiled or checkpointed function.
    """
    if not judging.stateful:
        return Unspecified()
    writes = (step for at in traced.observed.region if isinstance(step := judging.program[at], InPlace))
    written = {alias for step in writes for alias in tape.reference.storages.aliases(step.target)}
    judging.reference.storages.unspecified.update(ref for ref in written if ref in judging.reference.values)
    skip_step(judging.reference, traced.at, traced.step, traced.observed)
    return None


def _is_invalidated(tape: Tape, traced: TraceStep) -> bool:
    """Whether a call through a region (a compiled or checkpointed function) may be refused because the region
    overwrites values that the call needs. Frameworks that compute the derivatives together with the region notice that
    immediately.
    """
    parts = tape.region_nodes(traced.observed.region) if tape.reference.traits.one_node else ()
    return any(version_mismatch(tape, node) for node in parts)


def judge_values(judging: Judging, traced: TraceStep) -> Violation | None:
    """Returns the violation if a value that is observed after a region (instructions that ran as one compiled or
    checkpointed function) differs from the one that the region must compute. Notes the dtype, strides and memory of the
    values that the region made.
    """
    program, storages = judging.program, judging.reference.storages
    writes = [step for at in traced.observed.region if isinstance(step := program[at], InPlace)]
    targets = {step.target for step in writes}
    affected = {alias for target in targets for alias in storages.aliases(target)}
    for ref, tensor in traced.observed.values.items():
        if ref in storages.unspecified:
            continue
        made = ref.at in traced.observed.region
        rule = (
            slugs.WRITES_VALUE
            if ref in targets
            else slugs.WRITES_ALIASES
            if ref in affected
            else slugs.WRITES_NOTHING_ELSE
        )
        rule = slugs.GRADIENTS_FORWARD if made and ref not in affected else rule
        want, edge = judging.reference.values[ref], judging.reference.tape.edge(ref)
        violation = value_violation(judging, traced.at, traced.step, rule, ref, tensor, want, edge)
        if made and not violation:
            violation = _judge_made(judging, traced, ref, tensor)
        if violation:
            return violation
    return None


def _judge_made(judging: Judging, traced: TraceStep, ref: Ref, tensor: Tensor) -> Violation | None:
    """Notes the dtype, strides and memory of a value that a compiled or checkpointed function returned; returns the
    violation if its dtype, flag or memory is wrong.
    """
    step = judging.program[ref.at]
    assert isinstance(step, (Apply, Detach))
    judging.dtypes[ref] = tensor.dtype
    judging.strides[ref] = tensor.strides
    rule = slugs.DETACH_VALUES if isinstance(step, Detach) else slugs.GRADIENTS_FORWARD
    expected = expected_dtype(judging, step)
    violation = check_dtype(judging, traced.at, step, rule, ref, tensor, expected)
    violation = violation or judge_flag(judging, traced.at, step, ref, tensor)
    return violation or judge_region_result(judging, traced.at, step, ref, tensor)
