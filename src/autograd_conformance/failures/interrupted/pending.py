"""What a worker has found and not yet sent: a failure is on disk before it is explained and run again, which may take
long, so that it is not lost where the run ends in the meantime.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from autograd_conformance.reporting.records.encoding import decode, encode
from autograd_conformance.reporting.records.records import Record

PREFIX = "found-"
"""How the names of the files begin."""


def save(folder: Path, worker: str, *records: Record) -> None:
    """Write down what a worker found; what could not be written is sent all the same when it is ready."""
    path = folder / f"{PREFIX}{worker}"
    aside = folder / f"{PREFIX}{worker}.new"
    with suppress(OSError):
        aside.write_text(json.dumps([encode(record) for record in records]), encoding="utf-8")
        aside.replace(path)


def discard(folder: Path, worker: str) -> None:
    """What a worker found is sent."""
    with suppress(OSError):
        (folder / f"{PREFIX}{worker}").unlink(missing_ok=True)


def take(folder: Path, worker: str = "*") -> Iterator[Record]:
    """What workers, or one of them, found and did not send any more; their files go."""
    for path in sorted(folder.glob(f"{PREFIX}{worker}")):
        try:
            records = [decode(form) for form in json.loads(path.read_text(encoding="utf-8"))]
        except (OSError, ValueError):
            records = []
        with suppress(OSError):
            path.unlink()
        yield from records
