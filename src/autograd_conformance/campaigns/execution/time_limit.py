"""The time limit of a campaign's command: decides whether a shard that starts now would end in time.

A shard is never interrupted, as its draws must depend on its seed alone. Therefore a shard starts only if it is
expected to end in time, judging by the shards before it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

from autograd_conformance.campaigns.execution.progress import SeriesProgress


@dataclass(slots=True)
class TimeLimit:
    """The time limit of one command, with all its series together."""

    deadline: float = math.inf
    """The time on the monotonic clock at which the command's time is over; infinity without a limit."""

    @classmethod
    def of(cls, hours: float | None) -> TimeLimit:
        """Makes a limit of some hours from now; None means no limit."""
        return cls() if hours is None else cls(time.monotonic() + hours * 3600)

    @property
    def left(self) -> float:
        """The remaining seconds, at least 0."""
        return max(0.0, self.deadline - time.monotonic())

    def allows(self, row: SeriesProgress, rows: Sequence[SeriesProgress], rounds: int) -> bool:
        """Whether a shard of a series is expected to end in time if each process runs `rounds` shards until then.

        If no shard of the series has ended, the first of the `rows` with a finished shard is used for the estimate.
        """
        known = [each for each in (row, *rows) if each.done]
        return self.left > 0 and (not known or rounds * known[0].seconds_per_shard <= self.left)
