"""How far a series is: which of its seeds are done, under way, or given up, and which comes next."""

from __future__ import annotations

from dataclasses import dataclass, field

from autograd_conformance.campaigns.plans.plan import Amount
from autograd_conformance.campaigns.shards.shard import Series

TRIES = 3
"""How often a shard is tried before it is given up, and how many are given up in a row before their series is."""


@dataclass(slots=True)
class SeriesProgress:
    """How far a series is."""

    series: Series
    done: set[int] = field(default_factory=set)
    """The seeds whose records are kept and counted."""
    running: set[int] = field(default_factory=set)
    """The seeds that are with the scheduler."""
    attempts: dict[int, int] = field(default_factory=dict)
    """How often seeds were tried in vain."""
    given_up: dict[int, str] = field(default_factory=dict)
    """The seeds that are not tried any more, and why."""
    consecutive_failures: int = 0
    """How many of them there were since a shard was had."""
    submitted: int = 0
    """How often one of its shards was given to the scheduler."""
    rejecting_workers: set[str] = field(default_factory=set)
    """The addresses of workers that refused one of its shards: others have the next, where there are any."""
    rejection: str = ""
    """Why none of its shards can be had, where one of them told so of all."""
    programs: int = 0
    seconds: float = 0.0
    """How long its shards took, one after the other."""
    failing: int = 0
    """How many of its shards had failures."""
    done_prefix: int = 0
    """How many seeds from the first on are done, as far as was looked."""

    @property
    def stop_reason(self) -> str | None:
        """Why nothing more of it is run, where that is so: nothing came of what was tried last."""
        if self.rejection:
            return self.rejection
        return next(reversed(self.given_up.values())) if self.consecutive_failures >= TRIES else None

    @property
    def seconds_per_shard(self) -> float:
        """How long one of its shards takes, by those that are done."""
        return self.seconds / len(self.done)

    def fraction(self, amount: Amount) -> float | None:
        """Which part of it is done; None where that is a matter of time."""
        if amount.programs is not None:
            return min(1.0, self.programs / amount.programs)
        return None if amount.shards is None else len(self.done) / amount.shards

    def next_seed(self, amount: Amount) -> int | None:
        """The seed that is to be run next; None where enough is done or under way."""
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
