"""Uses the time that the tests leave: reduces and explains failures that were only counted, and runs causes again that
no process had time for.

Each process may explain failures for a small part of a limited run, so that failures do not take the time of later
tests. A run may end early all the same, as its later stages wait for a broken one. The causes of such a run would be
programs in which they were found: long, without a diagnosis, and several of one fault.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from dataclasses import replace

from autograd_conformance.checking.session import Session
from autograd_conformance.failures.confirmation.time_limit import NOT_RUN, SHORTEST, confirm
from autograd_conformance.failures.counted import NEEDED
from autograd_conformance.failures.record import explained
from autograd_conformance.plugin.recording.record_buffer import RecordBuffer
from autograd_conformance.reporting.analysis.causes import causes
from autograd_conformance.reporting.records.failure import Failure


def explain_late(session: Session, writer: RecordBuffer) -> None:
    """Replaces records of failures by explained ones, the worst causes first, until the tests' part of a limited run's
    time ends. A run without such a limit has explained one failure of each cause.
    """
    until, tried = session.process.limits.deadline, set[str | None]()
    if until is None:
        return
    while waiting := list(_unexplained(writer, tried)):
        left = until - time.monotonic()
        if left < NEEDED:
            break
        old = waiting[0]
        tried.add(old.replay)
        new = _explained(old, session, time.monotonic() + max(NEEDED, left / len(waiting)))
        if new is not None:
            writer.replace(old, new)
    for cause in causes(writer.report()):
        if until - time.monotonic() < SHORTEST:
            break
        if cause.shown.alone in (None, NOT_RUN):
            writer.replace(cause.shown, confirm(cause.shown, session))


def _unexplained(writer: RecordBuffer, tried: Collection[str | None]) -> Iterator[Failure]:
    """Yields one failure of each cause of which no failure was explained, without those of two related programs."""
    for cause in causes(writer.report()):
        shown = cause.shown
        if shown.counted and shown.verdict == "fail" and "relation" not in shown.program and shown.replay not in tried:
            yield shown


def _explained(old: Failure, session: Session, until: float) -> Failure | None:
    """Returns a failure reduced and explained; None if its program does not break the rule in this process."""
    broken = session.framework.violated_by(old.program)
    if broken is None or (broken.violation.rule, broken.violation.op) != (old.rule, old.op):
        return None
    new = explained(broken, old.test, session, old.verdict, until)
    return replace(new, pair=old.pair) if new.rule == old.rule else None
