"""Running a failure again, as far as the run's time allows it."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace

from autograd_conformance.checking.session import Session
from autograd_conformance.failures.confirmation import isolation
from autograd_conformance.frameworks.environment.process_end import KILLS
from autograd_conformance.processes import child
from autograd_conformance.programs.language import Program
from autograd_conformance.reporting.records.failure import Confirmation, Failure

SHARE, LEAST = 0.1, 5.0
"""The part of a limited run's time that each process may spend on running failures again, and the least, in seconds."""

SHORTEST = 2.0
"""Seconds without which it is not worth to begin."""

NOT_RUN = Confirmation(runs=0, failed=0)
"""What is said of a failure that was not run again, for the time was over."""


def confirm(failure: Failure, session: Session, history: Sequence[Program] = (), always: bool = False) -> Failure:
    """The failure with what came of it alone, or with the note that there was no time for it; `always` runs it again
    where the options ask for no more.
    """
    until = session.until(SHARE, LEAST, session.confirming)
    if math.isinf(until) or not (session.confirms or always):
        return isolation.confirm(failure, session, history, always)
    began = time.monotonic()
    if until - began < SHORTEST:
        return replace(failure, alone=NOT_RUN)
    with child.deadline(until):
        rerun = isolation.confirm(failure, session, history, always)
    session.confirming += time.monotonic() - began
    return replace(failure, alone=NOT_RUN) if time.monotonic() >= until else rerun


def confirm_process_end(
    failure: Failure, status: int | None, session: Session, history: Sequence[Program] = ()
) -> tuple[Failure, bool]:
    """The failure of a program whose process ended with a status, run again, and whether it cannot be told by whom: the
    process was killed, and running the program again kills none.
    """
    may_be_outside = is_kill(failure, status)
    rerun = confirm(failure, session, history, always=may_be_outside)
    return rerun, may_be_outside and not is_reproduced(rerun)


def is_kill(failure: Failure, status: int | None) -> bool:
    """Whether a process may have been killed from outside."""
    return failure.verdict != "timeout" and status in KILLS


def is_reproduced(failure: Failure) -> bool:
    """Whether a failure showed when it was run again."""
    return failure.alone is not None and bool(failure.alone.failed or failure.alone.after is not None)


def undecided_text(failure: Failure) -> str:
    """Why it cannot be told who ended a process."""
    runs = failure.alone.runs if failure.alone else 0
    attempts = f"alone, it did not end its process in {runs} runs" if runs else "it was not run again"
    return f"{failure.observed}; {attempts}: something else may have killed it. The program: {failure.replay}"
