"""Files of failures that a worker process of a run has found and not yet sent to the run's main process.

Explaining and confirming a failure may take long, so the worker first writes the failure to disk. If the run ends in
the meantime, the failure is read from there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from autograd_conformance.reporting.records.encoding import decode, encode
from autograd_conformance.reporting.records.records import Record

PREFIX = "found-"
"""Prefix of the names of the files with failures that a worker has found and not sent: ``found-gw0`` for the worker
``gw0``."""


def save(folder: Path, worker: str, *records: Record) -> None:
    """Writes the records of a failure that a worker found to the worker's file, in place of earlier ones. Errors are
    ignored: the records are still sent when they are complete.
    """
    path = folder / f"{PREFIX}{worker}"
    aside = folder / f"{PREFIX}{worker}.new"
    with suppress(OSError):
        aside.write_text(json.dumps([encode(record) for record in records]), encoding="utf-8")
        aside.replace(path)


def discard(folder: Path, worker: str) -> None:
    """Removes a worker's file, because its records were sent."""
    with suppress(OSError):
        (folder / f"{PREFIX}{worker}").unlink(missing_ok=True)


def take(folder: Path, worker: str = "*") -> Iterator[Record]:
    """Reads the records that workers found and did not send, and removes the files."""
    for path in sorted(folder.glob(f"{PREFIX}{worker}")):
        try:
            records = [decode(form) for form in json.loads(path.read_text(encoding="utf-8"))]
        except (OSError, ValueError):
            records = []
        with suppress(OSError):
            path.unlink()
        yield from records
