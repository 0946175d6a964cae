"""Running a failure again, as far as the run's time allows it."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace

from autograd_conformance.harness import child
from autograd_conformance.harness.failures import alone
from autograd_conformance.harness.session import Session
from autograd_conformance.programs.language import Program
from autograd_conformance.reports.failure import Alone, Failure

PART, LEAST = 0.1, 5.0
"""The part of a limited run's time that each process may spend on running failures again, and the least, in seconds."""

SHORTEST = 2.0
"""Seconds without which it is not worth to begin."""

NOT_RUN = Alone(runs=0, failed=0)
"""What is said of a failure that was not run again, for the time was over."""


def confirmed(failure: Failure, session: Session, past: Sequence[Program] = ()) -> Failure:
    """The failure with what came of it alone, or with the note that there was no time for it."""
    until = session.until(PART, LEAST, session.confirming)
    if math.isinf(until) or not session.confirms:
        return alone.confirmed(failure, session, past)
    began = time.monotonic()
    if until - began < SHORTEST:
        return replace(failure, alone=NOT_RUN)
    with child.ending_at(until):
        tried = alone.confirmed(failure, session, past)
    session.confirming += time.monotonic() - began
    return replace(failure, alone=NOT_RUN) if time.monotonic() >= until else tried
