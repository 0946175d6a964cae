"""The time of a campaign: whether a shard that is begun now would come to its end within it.

A shard is never cut short, for what it draws may hang on its seed alone; so it is begun only where it is expected to
end in time, by how long those before it took.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

from autograd_conformance.campaigns.execution.progress import SeriesProgress


@dataclass(slots=True)
class TimeLimit:
    """The time that a command may take."""

    deadline: float = math.inf
    """When it is over, on the monotonic clock."""

    @classmethod
    def of(cls, hours: float | None) -> TimeLimit:
        """So many hours from now on; None is no limit."""
        return cls() if hours is None else cls(time.monotonic() + hours * 3600)

    @property
    def left(self) -> float:
        """How many seconds there are yet; none below zero."""
        return max(0.0, self.deadline - time.monotonic())

    def allows(self, row: SeriesProgress, rows: Sequence[SeriesProgress], rounds: int) -> bool:
        """Whether a shard of a series is expected to end in time, where each process has so many to run by then; as
        long as nothing is known of the series, by the others of some `rows`.
        """
        known = [each for each in (row, *rows) if each.done]
        return self.left > 0 and (not known or rounds * known[0].seconds_per_shard <= self.left)
