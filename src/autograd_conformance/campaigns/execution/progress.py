"""The progress of a series: the seeds that are done, running or given up, and the next seed."""

from __future__ import annotations

from dataclasses import dataclass, field

from autograd_conformance.campaigns.plans.plan import Amount
from autograd_conformance.campaigns.shards.shard import Series

TRIES = 3
"""Number of attempts before a shard is given up, and number of shards in a row that are given up before their series
is.
"""


@dataclass(slots=True)
class SeriesProgress:
    """The progress of a series of shards."""

    series: Series
    done: set[int] = field(default_factory=set)
    """Seeds whose records are stored and merged."""
    running: set[int] = field(default_factory=set)
    """Seeds that are with the scheduler."""
    attempts: dict[int, int] = field(default_factory=dict)
    """Number of failed attempts of each seed."""
    given_up: dict[int, str] = field(default_factory=dict)
    """Seeds that were given up, with the reasons."""
    consecutive_failures: int = 0
    """Number of seeds given up since the last shard succeeded."""
    submitted: int = 0
    """Number of submitted shards."""
    rejecting_workers: set[str] = field(default_factory=set)
    """Addresses of workers that rejected a shard of this series. Other workers get the next one, if there are any."""
    rejection: str = ""
    """The reason why no shard of the series can succeed, if a shard reported one."""
    programs: int = 0
    seconds: float = 0.0
    """Total time of the shards, in seconds."""
    failing: int = 0
    """Number of shards with failures."""
    done_prefix: int = 0
    """Number of seeds from the first on that are known to be done."""

    @property
    def stop_reason(self) -> str | None:
        """The reason why no more shards are run: the series was rejected, or its last shards were given up. Otherwise
        None.
        """
        if self.rejection:
            return self.rejection
        return next(reversed(self.given_up.values())) if self.consecutive_failures >= TRIES else None

    @property
    def seconds_per_shard(self) -> float:
        """Average time of a finished shard, in seconds."""
        return self.seconds / len(self.done)

    def fraction(self, amount: Amount) -> float | None:
        """The fraction of the amount that is done; None if the amount is a time."""
        if amount.programs is not None:
            return min(1.0, self.programs / amount.programs)
        return None if amount.shards is None else len(self.done) / amount.shards

    def next_seed(self, amount: Amount) -> int | None:
        """The seed to run next; None if enough shards are done or running."""
        if self.stop_reason:
            return None
        each = self.programs / len(self.done) if self.done else self.series.programs
        if amount.programs is not None and self.programs + len(self.running) * each >= amount.programs:
            return None
        while amount.first + self.done_prefix in self.done:
            self.done_prefix += 1
        seed = amount.first + self.done_prefix
        while seed in self.done or seed in self.running or seed in self.given_up:
            seed += 1
        return None if amount.last is not None and seed > amount.last else seed
