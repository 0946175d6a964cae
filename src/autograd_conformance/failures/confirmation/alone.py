"""Runs the program of each op that the audit found faulty again, alone in a fresh process.

An op is blamed only if its program fails there, too. If it passes, the framework, or the adapter's `reset`, keeps state
between programs, and it cannot be told which program made that state.
"""

from __future__ import annotations

import time

from autograd_conformance.checking.audit.outcome import AuditResult, Undecided
from autograd_conformance.failures.confirmation.fresh_process import Request, run_in_subprocess
from autograd_conformance.processes import child

SHARE, MOST = 0.1, 60.0
"""The share of a limited run's remaining time in which programs run alone, and the largest number of seconds of any
run.
"""


def blaming_only_what_fails_alone(
    found: AuditResult, request: Request, but: frozenset[str], seconds: float | None
) -> AuditResult:
    """Returns the result of an audit with only those faults that occur in a fresh process, too. `request` says how the
    framework runs there.

    The ops of `but`, which have known differences, do not run again. `seconds` are left to the run; None if it has no
    limit. Ops for which no time is left are blamed unless another op passed alone. Raises `AdapterError` if the
    framework describes itself differently in a fresh process.
    """
    until = time.monotonic() + min(MOST, MOST if seconds is None else SHARE * seconds)
    suspects = {op: fault for op, fault in found.faults.items() if op not in but}
    passed: dict[str, bool | None] = {}
    with child.deadline(until):
        for op, fault in suspects.items():
            passed[op] = _passes(Request(**{**vars(request), "program": fault.program}), until)
    if True not in passed.values():
        return found
    return found.not_blaming(
        {op: Undecided(fault, passed[op] is True) for op, fault in suspects.items() if passed[op] is not False}
    )


def _passes(request: Request, until: float) -> bool | None:
    """Returns whether a program breaks no rule in a fresh process; None if it could not run there before the time
    `until`, on the monotonic clock.
    """
    if time.monotonic() >= until:
        return None
    result = run_in_subprocess(request)
    if result.error is not None or (result.process_ended and time.monotonic() >= until):
        return None
    return not result.process_ended and not any(result.broken_rules)
