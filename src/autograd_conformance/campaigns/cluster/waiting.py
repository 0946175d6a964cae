"""Waits for workers that can run the remaining tasks.

Workers of a cluster come and go, and may wait in a queue for hours. Therefore a task is never refused because no
present worker can run it. But if no remaining task can be run and no worker arrives in time, the command ends with a
message.
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
"""The amount of each resource that a task occupies on a worker, such as ``{"GPU": 1}``."""

MINUTES = 30.0
"""Default time limit, in minutes, of waiting for a worker that can run a remaining task."""


class NoWorkers(Exception):
    """No worker can run a remaining task, and none arrived in time; the message names the missing resources."""


@dataclass(slots=True)
class Waiting:
    """Measures the time for which no worker could run a remaining task."""

    limit: float = 60 * MINUTES
    """Seconds without any worker that can run a remaining task after which the campaign ends."""
    since: float | None = None
    """Start of the waiting on the monotonic clock; None if some task can be run or no task is left."""

    def check(self, engine: Engine, needs: Iterable[Needs]) -> None:
        """Starts or ends the waiting, given the needs of all remaining tasks. Raises `NoWorkers` if the limit is
        reached.
        """
        needed = list(needs)
        if not needed or any(engine.capacity(each) for each in needed):
            self.since = None
            return
        now = time.monotonic()
        self.since = now if self.since is None else self.since
        if now - self.since >= self.limit:
            raise NoWorkers(f"{_missing_text(needed)}, and none arrived within {duration(self.limit)}")

    def describe(self, engine: Engine, needs: Iterable[Needs]) -> str:
        """Returns the resources that no worker offers, and the remaining waiting time, as text; empty if workers can
        run all tasks.
        """
        unmet = [each for each in needs if not engine.capacity(each)]
        if not unmet:
            return ""
        left = None if self.since is None else self.limit - (time.monotonic() - self.since)
        more = "" if left is None or math.isinf(left) else f", {duration(max(0.0, left))} more at most"
        offers = _offers(unmet)
        return f"waiting for workers{f' that offer {offers}' if offers else ''}{more}"


def require_workers(engine: Engine, needs: Iterable[Needs]) -> None:
    """Raises `NoWorkers` if no worker can run one of these tasks; called for tasks that were not submitted before a
    campaign's time was over.
    """
    unmet = [each for each in needs if not engine.capacity(each)]
    if unmet:
        raise NoWorkers(f"{_missing_text(unmet)}, and none arrived before the time was over")


def _missing_text(needs: Iterable[Needs]) -> str:
    offers = _offers(needs)
    return f"no worker offers {offers}" if offers else "there is no worker"


def _offers(needs: Iterable[Needs]) -> str:
    """Returns the resources of these tasks as text; empty if any worker would do."""
    named = dict.fromkeys(" and ".join(f"{name}={amount:g}" for name, amount in each.items()) for each in needs)
    return listed(named, 3, by=", or ") if all(named) else ""
