"""The state of one process in a run: its latest programs, the failures that it may still run again, and its
deadlines.
"""

from __future__ import annotations

import errno
import math
import time
from collections import deque
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path

from autograd_conformance.checking.session.settings import Settings
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.processes.child import CLOSED
from autograd_conformance.processes.journal import Journal
from autograd_conformance.programs.language import Program

PAST = 500
"""Number of latest programs that a process remembers, for failures that need earlier programs to occur."""


class ProcessState:
    """The latest programs, counters and deadlines of one process. Only its own methods change it."""

    def __init__(self, settings: Settings) -> None:
        self.name, self.limits = settings.name, settings.limits
        self.began = time.monotonic()
        self.unwritable: str | None = None
        """The file of the report that this process could not write, and why; None if there is none. The run
        then ends.
        """
        self.confirms_left = settings.confirms
        """Number of failures that this process may still run again in a fresh process, to see whether they
        reproduce.
        """
        self.confirming = 0.0
        """Seconds that this process has spent on running failures again, in a run with a time limit."""
        self.explaining = 0.0
        """Seconds that this process has spent on reducing and explaining failures, in a run with a time limit."""
        self.has_counted = False
        """Whether this process counted a failure without explaining it."""
        self.gate_seconds = 0.0
        """Seconds that the framework took for a gate, one of the smallest programs of the stages; 0 if none ran."""
        self._explained: set[Hashable] = set()
        self._recorded: set[Hashable] = set()
        self._journal: Journal | None = None
        self._past: deque[Program] = deque(maxlen=PAST)
        self._reported: set[str] = set()
        self._judge_checks = 0

    # -- programs

    @property
    def past(self) -> tuple[Program, ...]:
        """The latest programs that this process ran, `PAST` at most, the last one at the end."""
        return tuple(self._past)

    def record_program(self, program: Program) -> None:
        """Remembers a program that is about to run, and writes it to the journal, the file that names the running
        program if the process dies.
        """
        self._past.append(program)
        if self._journal:
            try:
                self._journal.write(program)
            except OSError as error:
                if error.errno == errno.EBADF:
                    raise AdapterError(f"{self.name}: {CLOSED}") from None
                self.record_unwritable(self._journal.path, error)

    @contextmanager
    def journaled(self, journal: Journal) -> Iterator[Journal]:
        """Writes each program to a journal before the program runs, inside a `with` block."""
        self._journal = journal
        try:
            yield journal
        finally:
            self._journal = None

    def clear_journal(self) -> None:
        """Removes the finished program from the journal, so that the time limit of a program does not apply until the
        next one.
        """
        if self._journal:
            self._journal.end()

    # -- results

    def record_unwritable(self, path: Path, error: OSError) -> None:
        """Remembers a file of the report that could not be written, with the reason; the run then ends."""
        self.unwritable = f"{path}: {error.strerror or error}"

    def report_once(self, rule: str) -> bool:
        """Notes that a violation of a SHOULD rule is reported; returns whether it is the first one of this rule in this
        process.
        """
        is_first = rule not in self._reported
        self._reported.add(rule)
        return is_first

    def count_judge_check(self) -> int:
        """Counts a check of this process's judge with known answers; returns the number of earlier checks."""
        self._judge_checks += 1
        return self._judge_checks - 1

    # -- causes

    def is_explained(self, cause: Hashable) -> bool:
        """Returns whether this process has explained a failure with a cause; False for None, an unknown cause."""
        return cause is not None and cause in self._explained

    def is_recorded(self, cause: Hashable) -> bool:
        """Returns whether this process has recorded a failure with a cause; False for None, an unknown cause."""
        return cause is not None and cause in self._recorded

    def note_recorded(self, cause: Hashable) -> None:
        """Notes that a failure with a cause was recorded, explained or only counted."""
        self._recorded.add(cause)

    def note_explained(self, cause: Hashable) -> None:
        """Notes that a failure with a cause was reduced and explained, so that others with that cause are only
        counted.
        """
        if cause is not None:
            self._explained.add(cause)

    def count_explaining(self, seconds: float) -> None:
        """Adds seconds that were spent on reducing and explaining a failure."""
        self.explaining += seconds

    # -- confirmations

    def take_confirmation(self) -> bool:
        """Uses up one of the failures that may still run again in a fresh process; returns False if none was left."""
        left = bool(self.confirms_left)
        self.confirms_left -= left
        return left

    def count_confirming(self, seconds: float) -> None:
        """Adds seconds that were spent on running a failure again."""
        self.confirming += seconds

    # -- time

    def is_over(self) -> bool:
        """Returns whether the time for tests has ended."""
        return self.limits.seconds_left() == 0

    def is_late(self) -> bool:
        """Returns whether the run has to end now, so that only the report is still written."""
        return self.limits.last is not None and time.monotonic() >= self.limits.last

    def deadline(self, part: float, least: float, spent: float = 0.0, late: bool = False) -> float:
        """Returns the deadline, on the monotonic clock, of work that may take a fraction `part` of the run's time, but
        at least `least` seconds; `spent` seconds are used already. Infinite if the run has no time limit. The work ends
        with the tests, or, if it is `late`, within the time that is reserved for the report.
        """
        latest = self.limits.last if late else self.limits.deadline
        if self.limits.end is None or latest is None:
            return math.inf
        left = max(least, part * (self.limits.end - self.began)) - spent
        return min(latest, time.monotonic() + left)
