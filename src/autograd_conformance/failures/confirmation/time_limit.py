"""Confirms failures (runs each again in a fresh process) within the time limit of the run."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace

from autograd_conformance.checking.session import Session
from autograd_conformance.failures.confirmation import isolation
from autograd_conformance.processes import child
from autograd_conformance.processes.supervision import KILLS
from autograd_conformance.programs.language import Program
from autograd_conformance.reporting.records.failure import Confirmation, Failure

SHARE, LEAST = 0.05, 5.0
"""The share of a limited run's time that each process may spend on confirming failures, and the least such time in
seconds."""

SHARE_OF_ENDINGS = 0.1
"""The share of that time if a failure ended its process: whether the framework did that depends on running it again."""

SHORTEST = 2.0
"""The least number of seconds that must be left for a failure to be confirmed."""

NOT_RUN = Confirmation(runs=0, failed=0)
"""The confirmation of a failure that was not run again because the time limit of the run was reached."""


def confirm(
    failure: Failure, session: Session, history: Sequence[Program] = (), always: bool = False, late: bool = False
) -> Failure:
    """Runs a failure again in a fresh process, and returns the failure with the result, or with `NOT_RUN` if there was
    no time for it.

    With `always`, the failure is confirmed even if the limit of `--confirm` is reached; with `late`, also after the
    tests, while there is time for the report.
    """
    share = SHARE_OF_ENDINGS if failure.ends_process else SHARE
    until = session.process.deadline(share, LEAST, session.process.confirming, late)
    if math.isinf(until) or not (session.process.confirms_left or always):
        return isolation.confirm(failure, session, history, always)
    began = time.monotonic()
    if until - began < SHORTEST:
        return replace(failure, alone=NOT_RUN)
    with child.deadline(until):
        rerun = isolation.confirm(failure, session, history, always)
    session.process.count_confirming(time.monotonic() - began)
    return _as_far_as_it_came(rerun) if time.monotonic() >= until else rerun


def _as_far_as_it_came(failure: Failure) -> Failure:
    """Returns a failure, whose confirmation was cut off by the time limit, with the part that is certain: the runs of
    the program, if it failed there. That its process ended, or what its script printed, may be the limit's doing.
    """
    alone = failure.alone
    if alone is None or not alone.failed or failure.ends_process:
        return replace(failure, alone=NOT_RUN)
    return replace(failure, alone=replace(alone, after=None, printed="", trouble=None))


def confirm_process_end(
    failure: Failure, status: int | None, session: Session, history: Sequence[Program] = ()
) -> tuple[Failure, bool]:
    """Runs a program that ended its process again. Returns the failure, and True if it is undecided who ended the
    process: the process was killed, and running the program again does not end a process.

    `status` is the exit status of the process.
    """
    may_be_outside = is_kill(failure, status)
    rerun = confirm(failure, session, history, always=may_be_outside)
    return rerun, may_be_outside and not is_reproduced(rerun)


def is_kill(failure: Failure, status: int | None) -> bool:
    """Whether something outside the run, such as the system when memory ran out, may have killed the process that
    `failure` is about.
    """
    return failure.verdict != "timeout" and status in KILLS


def is_reproduced(failure: Failure) -> bool:
    """Whether the failure occurred again in a fresh process, perhaps after earlier programs."""
    return failure.alone is not None and bool(failure.alone.failed or failure.alone.after is not None)


def undecided_text(failure: Failure) -> str:
    """Explains why it is undecided who ended a process."""
    runs = failure.alone.runs if failure.alone else 0
    attempts = f"alone, it did not end its process in {runs} runs" if runs else "it was not run again"
    return f"{failure.observed}; {attempts}: something else may have killed it. The program: {failure.replay}"
