"""How much memory this process has, as Linux counts it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

ROLLUP = Path("/proc/self/smaps_rollup")


class Memory(NamedTuple):
    """Megabytes that are resident, with what other processes have, too, and without."""

    resident: float
    private: float


def memory() -> Memory:
    """What this process has now."""
    kilobytes = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in _lines())}
    private = kilobytes["Private_Clean"] + kilobytes["Private_Dirty"]
    return Memory(kilobytes["Rss"] / 1024, private / 1024)


def _lines() -> list[str]:
    return ROLLUP.read_text(encoding="ascii").splitlines()[1:]  # the first names the range of addresses
