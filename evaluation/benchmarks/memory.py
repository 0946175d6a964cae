"""The memory of this process, as Linux reports it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

ROLLUP = Path("/proc/self/smaps_rollup")


class Memory(NamedTuple):
    """Resident megabytes, with and without the memory that is shared with other processes."""

    resident: float
    private: float


def memory() -> Memory:
    """The current memory of this process."""
    kilobytes = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in _lines())}
    private = kilobytes["Private_Clean"] + kilobytes["Private_Dirty"]
    return Memory(kilobytes["Rss"] / 1024, private / 1024)


def _lines() -> list[str]:
    return ROLLUP.read_text(encoding="ascii").splitlines()[1:]  # the first line is the range of addresses
