"""Lengthens timeouts with the load of the machine."""

from __future__ import annotations

import os


def scaled_timeout(seconds: float) -> float:
    """Returns a timeout, multiplied by the average number of waiting processes per processor in the last minute if that
    is above 1.
    """
    try:
        waiting = os.getloadavg()[0]
    except (AttributeError, OSError):  # not available on every system
        return seconds
    return seconds * max(1.0, waiting / (os.cpu_count() or 1))
