"""How long a program may take: longer where the machine has more to do than it can."""

from __future__ import annotations

import os


def stretched(seconds: float) -> float:
    """Seconds that mean as much where processes wait for a processor: as many times more as there are for each one, in
    the average of the last minute.
    """
    try:
        waiting = os.getloadavg()[0]
    except (AttributeError, OSError):  # not every system says
        return seconds
    return seconds * max(1.0, waiting / (os.cpu_count() or 1))
