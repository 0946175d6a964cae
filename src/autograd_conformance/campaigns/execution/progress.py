"""The progress of a series of shards: the seeds that are done, running or given up, and the next seed."""

from __future__ import annotations

from dataclasses import dataclass, field

from autograd_conformance.campaigns.plans.plan import Amount
from autograd_conformance.campaigns.shards.shard import Series

TRIES = 3
"""Number of attempts before a shard is given up, and number of shards given up in a row before their series is
stopped."""


@dataclass(slots=True)
class SeriesProgress:
    """Records which shards of a series are done, are running (several at once), failed or were given up."""

    series: Series
    done: set[int] = field(default_factory=set)
    """Seeds whose records are stored and merged."""
    running: set[int] = field(default_factory=set)
    """Seeds that were submitted to the scheduler and have not ended."""
    attempts: dict[int, int] = field(default_factory=dict)
    """For each seed whose shard failed, the number of failed attempts."""
    given_up: dict[int, str] = field(default_factory=dict)
    """Seeds that were given up, each with the reason."""
    consecutive_failures: int = 0
    """Number of seeds given up since the last shard succeeded."""
    submitted: int = 0
    """Number of shards that this command submitted."""
    rejecting_workers: set[str] = field(default_factory=set)
    """Addresses of workers that rejected a shard of this series. The next shard of the series goes to other workers, if
    there are any."""
    rejection: str = ""
    """The reason why no shard of the series can succeed, if a shard reported one."""
    programs: int = 0
    seconds: float = 0.0
    """Total duration of the finished shards, in seconds."""
    failing: int = 0
    """Number of finished shards whose records contain a failure."""
    done_prefix: int = 0
    """Number of consecutive seeds, from the plan's first seed, that are known to be done."""

    @property
    def stop_reason(self) -> str | None:
        """The reason why no more shards of the series are run: no shard can succeed, or the last shards were given up.
        Otherwise None.
        """
        if self.rejection:
            return self.rejection
        return next(reversed(self.given_up.values())) if self.consecutive_failures >= TRIES else None

    @property
    def seconds_per_shard(self) -> float:
        """Average time of a finished shard, in seconds."""
        return self.seconds / len(self.done)

    def fraction(self, amount: Amount) -> float | None:
        """Returns the fraction of the plan's programs or seeds that this series has done; None if the plan's amount is
        a time.
        """
        if amount.programs is not None:
            return min(1.0, self.programs / amount.programs)
        return None if amount.shards is None else len(self.done) / amount.shards

    def next_seed(self, amount: Amount) -> int | None:
        """Returns the seed to run next; None if enough shards are done or running, or the series is stopped."""
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
