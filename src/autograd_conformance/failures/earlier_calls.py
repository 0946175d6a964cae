"""Removes the calls before a failing one that have nothing to do with its error: no rule about them is to blame."""

from __future__ import annotations

from collections.abc import Sequence

from autograd_conformance.checking.messages import normalised
from autograd_conformance.failures.case import Case
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.known_differences import Known, is_known
from autograd_conformance.programs.editing import pruned
from autograd_conformance.programs.language import BackwardCall, Program
from autograd_conformance.programs.operands import operands
from autograd_conformance.rules.violations.observed import RaisedError
from autograd_conformance.rules.violations.violation import Violation


def without_earlier_calls(case: Case, known: Sequence[Known] = ()) -> Case:
    """Returns the same error of a call in the program without the calls before it, if the call raises it there, too;
    otherwise the case. Reducing alone would keep them: without them another rule may be broken.
    """
    violation = case.violation
    program = case.program.upto(violation.at + 1)
    if not isinstance(violation.observed, RaisedError) or not isinstance(program[violation.at], BackwardCall):
        return case
    alone = _last_call_alone(program)
    if alone == program:
        return case
    try:
        judged = case.judge(alone)
        found = judged.violation
    except (Exception, AdapterError):  # a program that the reference cannot compute
        return case
    if found is None or found.at != len(alone) - 1 or _error(found) != _error(violation) or not judged.is_legal:
        return case
    return case if any(is_known(entry, alone, found) for entry in known) else case.failing_with(judged, found)


def _last_call_alone(program: Program) -> Program:
    """Returns the program, which ends with a call, without the calls before it whose results nothing uses."""
    for at in reversed(range(len(program) - 1)):
        if isinstance(program[at], BackwardCall) and not any(
            ref.at == at for step in program for ref in operands(step)
        ):
            program = pruned(program, at)
    return program


def _error(violation: Violation) -> tuple[str, str] | None:
    """Returns the type and the message of an error, without the numbers of the program."""
    observed = violation.observed
    return (observed.type, normalised(observed.message, ())) if isinstance(observed, RaisedError) else None
