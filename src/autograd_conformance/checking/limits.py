"""The limits of a run: how many programs it may run, and when it has to end."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

SPENT_IN_AUDIT = "the budget of programs ended during the audit of the ops"
"""Why a run ended whose programs were too few for its audit, in its report's words."""

KEPT, LEAST, MOST = 0.08, 2.0, 60.0
"""The part of a run's seconds that is kept for its end, and how many these are at least and at most."""


YOUNG = 60.0
"""Seconds after which a process that begins a run was not started for it."""


def began() -> float:
    """When this process was started, on the monotonic clock, where the system says it and that was for this run; now
    where not.
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
    """What a whole run may take, its audit included; None is no limit."""

    programs: int | None = None
    """How many programs."""
    deadline: float | None = None
    """When its tests have to end, on the monotonic clock, which the processes of one machine share."""
    end: float | None = None
    """When the whole run has to end, its report included, on the same clock."""

    @classmethod
    def of(cls, programs: int | None, seconds: float | None, began: float) -> Self:
        """The limits of a run that began at some time; some of its seconds are kept for its end."""
        if seconds is None:
            return cls(programs)
        kept = min(max(KEPT * seconds, LEAST), MOST, seconds / 2)
        return cls(programs, began + seconds - kept, began + seconds)

    @property
    def last(self) -> float | None:
        """When whatever still runs for the tests is interrupted, so that the report can be written."""
        return None if self.end is None or self.deadline is None else (self.end + self.deadline) / 2

    def seconds_left(self) -> float | None:
        """How many seconds are left; None where there is no limit."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    @property
    def limited(self) -> bool:
        """Whether there is any limit."""
        return self.programs is not None or self.deadline is not None


UNLIMITED = Limits()
"""No limits at all."""
