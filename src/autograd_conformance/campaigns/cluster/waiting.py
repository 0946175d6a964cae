"""Waiting for workers: what is to be run and no worker has place for, and how long that goes on.

Workers of a cluster come and go, and may wait in a queue for hours themselves; so nothing is refused because nobody can
run it now. But where nothing at all can be run, and nobody comes, the command ends with words.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autograd_conformance.reporting.prose import duration, listed

if TYPE_CHECKING:
    from autograd_conformance.campaigns.cluster.engine import Engine

Needs = Mapping[str, float]
"""What a task takes of a worker."""

MINUTES = 30.0
"""How long a command waits for workers, where it is not told."""


class NoWorkers(Exception):
    """No worker has place for anything that is to be run, and none came in time; the message says for what."""


@dataclass(slots=True)
class Waiting:
    """How long nothing can be run."""

    limit: float = 60 * MINUTES
    """After how many seconds nobody is waited for any longer."""
    since: float | None = None
    """When it began, on the monotonic clock; None while something can be run, or nothing is left."""

    def check(self, engine: Engine, needs: Iterable[Needs]) -> None:
        """See whether anything can be run, given what all that is to be run needs; `NoWorkers` where that is so for
        too long.
        """
        needed = list(needs)
        if not needed or any(engine.capacity(each) for each in needed):
            self.since = None
            return
        now = time.monotonic()
        self.since = now if self.since is None else self.since
        if now - self.since >= self.limit:
            raise NoWorkers(f"{_missing_text(needed)}, and none came in {duration(self.limit)}")

    def describe(self, engine: Engine, needs: Iterable[Needs]) -> str:
        """What no worker has place for, in words, and how long it is waited for; nothing where there is no such."""
        unmet = [each for each in needs if not engine.capacity(each)]
        if not unmet:
            return ""
        left = None if self.since is None else self.limit - (time.monotonic() - self.since)
        more = "" if left is None or math.isinf(left) else f", {duration(max(0.0, left))} more at most"
        offers = _offers(unmet)
        return f"waiting for workers{f' that offer {offers}' if offers else ''}{more}"


def require_workers(engine: Engine, needs: Iterable[Needs]) -> None:
    """See that no worker is missing when the time is over; `NoWorkers` where one is."""
    unmet = [each for each in needs if not engine.capacity(each)]
    if unmet:
        raise NoWorkers(f"{_missing_text(unmet)}, and none came before the time was over")


def _missing_text(needs: Iterable[Needs]) -> str:
    offers = _offers(needs)
    return f"no worker offers {offers}" if offers else "there is no worker"


def _offers(needs: Iterable[Needs]) -> str:
    """What workers have to offer, in words; nothing where any worker would do."""
    named = dict.fromkeys(" and ".join(f"{name}={amount:g}" for name, amount in each.items()) for each in needs)
    return listed(named, 3, by=", or ") if all(named) else ""
