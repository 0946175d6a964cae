"""The limits of a run: how many programs it may run, and when it has to end."""

from __future__ import annotations

import time
from dataclasses import dataclass

SPENT_IN_AUDIT = "the budget of programs ended during the audit of the ops"
"""Why a run ended whose programs were too few for its audit, in its report's words."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a whole run may take, its audit included; None is no limit."""

    programs: int | None = None
    """How many programs."""
    deadline: float | None = None
    """When it has to end, on the monotonic clock, which the processes of one machine share."""

    def seconds_left(self) -> float | None:
        """How many seconds are left; None where there is no limit."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    @property
    def limited(self) -> bool:
        """Whether there is any limit."""
        return self.programs is not None or self.deadline is not None


UNLIMITED = Limits()
"""No limits at all."""
