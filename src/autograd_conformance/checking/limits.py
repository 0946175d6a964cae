"""The limits of a run: its number of programs and its deadlines."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from math import ceil, inf
from pathlib import Path
from typing import Self

KEPT, LEAST, MOST = 0.08, 2.0, 60.0
"""The fraction of a run's seconds that is reserved for writing the report, and the smallest and largest number of
seconds that are reserved; at most half of the run's seconds are.
"""


GATED = 0.2
"""The fraction of a run's remaining seconds that the gates, the smallest programs of each stage, may take."""

AUDITED, AUDITED_SLOWLY = 0.5, 0.05
"""The fraction of a run's remaining seconds or programs after which the audit, which runs each op alone, ends, so that
tests run, too; and that of the seconds if a single program takes so long that the framework cannot bear many.
"""

YOUNG = 60.0
"""Age in seconds above which a process counts as older than the run."""


def began() -> float:
    """Returns the time at which this process was started, on the monotonic clock; the present time if the system does
    not report it, or if the process is older than the run.
    """
    now = time.monotonic()
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return now
    return now - age if 0 <= age < YOUNG else now


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a whole run, which includes running each op alone before the tests. None means no limit."""

    programs: int | None = None
    """Largest number of programs."""
    deadline: float | None = None
    """Deadline of the tests, on the monotonic clock, which all processes of a machine share."""
    end: float | None = None
    """Deadline of the whole run, which includes writing the report, on the same clock."""
    loading: float = 0.0
    """Seconds that a process of the run needs until it can run programs: as many as the main process needed."""

    @classmethod
    def of(cls, programs: int | None, seconds: float | None, began: float) -> Self:
        """Returns the limits of a run that began at a given time; some of its seconds are reserved for the report."""
        if seconds is None:
            return cls(programs)
        kept = min(max(KEPT * seconds, LEAST), MOST, seconds / 2)
        return cls(programs, began + seconds - kept, began + seconds)

    @property
    def last(self) -> float | None:
        """The time on the monotonic clock, halfway between `deadline` and `end`, at which tests that still run are
        interrupted, so that the report can be written; None without a deadline.
        """
        return None if self.end is None or self.deadline is None else (self.end + self.deadline) / 2

    def seconds_left(self) -> float | None:
        """Returns the number of seconds until the deadline of the tests; None without one."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def gates_until(self) -> float:
        """Returns the time on the monotonic clock at which the gates, the smallest programs of each stage, end if they
        begin now; infinity without a deadline. The processes of the gates, the audit and the tests have to be loaded.
        There are no gates if that would leave too little time.
        """
        seconds = self.seconds_left()
        if seconds is None:
            return inf
        loaded = seconds - 3 * self.loading
        return self._after(GATED * loaded) if loaded >= self.loading else time.monotonic()

    def audit_until(self, slow: bool) -> float:
        """Returns the time on the monotonic clock at which the audit ends if it begins now; infinity without a
        deadline. `slow`: a single program takes so long that the framework cannot bear many. There is no audit if
        loading its processes would take longer than the audit itself.
        """
        part = self.audit_seconds(slow)
        if part is None:
            return inf
        return self._after(part) if part >= self.loading else time.monotonic()

    def audit_seconds(self, slow: bool) -> float | None:
        """Returns the number of seconds for which the audit may run programs if it begins now; None without a
        deadline.
        """
        seconds = self.seconds_left()
        part = AUDITED_SLOWLY if slow else AUDITED
        return None if seconds is None else part * max(0.0, seconds - 2 * self.loading)

    def _after(self, seconds: float) -> float:
        """Returns the time at which a process that is started now has run programs for a number of seconds."""
        return time.monotonic() + self.loading + seconds

    @property
    def audit_programs(self) -> int | None:
        """The number of programs after which the audit ends; None without a limit of programs."""
        return None if self.programs is None else ceil(AUDITED * self.programs)

    @property
    def limited(self) -> bool:
        """Whether the run has a limit of programs or of time."""
        return self.programs is not None or self.deadline is not None


UNLIMITED = Limits()
"""The limits of a run without limits."""
