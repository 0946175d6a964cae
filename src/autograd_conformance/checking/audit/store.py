"""Stores the outcome of running each op alone, for later runs: an op that was right, or whose violation is a known
difference, does not run alone again until something changes.

The file is JSON, in the folder of the reference's generated code. Its keys are digests of everything that affects the
outcome and that this process can read: the framework's name and version, the adapter's source, and the suite's own
source. If a framework is rebuilt under the same version and now gets an op wrong, the tests of this op detect it, since
they run the same programs.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from autograd_conformance.checking.audit.notes import Note
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.frameworks.remote.client import Remote
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.package import sources
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.staging.cache import folder

KEPT = 64
"""Number of results that are kept, the latest ones, each for one state of a framework, its adapter and the suite."""

SOURCES = (
    "programs",
    "ops",
    "reference",
    "tape",
    "rules",
    "strategies",
    "frameworks",
    "adapters",
    "checking/audit",
)
"""Folders of the suite whose files affect the outcome of running each op alone."""


class Store:
    """The stored outcomes of the ops of one framework, as the framework and the suite are now. A file that cannot be
    read or written costs time only.
    """

    def __init__(self, target: Target, *arguments: object, path: Path | None = None) -> None:
        self.path = path or folder() / "audited.json"
        self.key = digest(target, *arguments)

    def notes(self, holds: Callable[[Note], bool]) -> dict[str, Note]:
        """Returns the stored note of each op for which `holds` says that the note is still valid."""
        found = (Note(*note) for note in self._read().get(self.key, ()))
        return {note.op: note for note in found if holds(note)}

    def keep(self, notes: Mapping[str, Note]) -> None:
        """Stores the note of each op. Errors of the disk are ignored."""
        audits = self._read()
        audits.pop(self.key, None)
        latest = dict([*audits.items(), (self.key, list(notes.values()))][-KEPT:])
        aside = self.path.with_suffix(f".{os.getpid()}")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            aside.write_text(json.dumps(latest), encoding="utf-8")
            aside.replace(self.path)
        except OSError:
            pass

    def _read(self) -> dict[str, list[Any]]:
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}


def digest(target: Target, *arguments: object) -> str:
    """Returns the digest of everything that affects the outcome of running each op alone and that this process can
    read.
    """
    versions = (version("jax"), np.__version__, target.name, target.version)
    claims = sorted(target.ops), sorted(each.name for each in target.capabilities), target.traits
    hasher = hashlib.sha256(f"{versions} {arguments} {claims} {sources.digest(*SOURCES)}".encode())
    if isinstance(target, Remote):
        hasher.update(target.handshake.digest.encode())
    for source in _adapter(target):
        hasher.update(source.read_bytes())
    return hasher.hexdigest()[:16]


def _adapter(target: Target) -> list[Path]:
    """Returns the source files of an adapter's class and its base classes, if the adapter runs in this process."""
    files = []
    for each in type(target.adapter).__mro__ if isinstance(target, InProcess) else ():
        try:
            files.append(inspect.getsourcefile(each))
        except (TypeError, OSError):  # built in, or without a source file
            continue
    return sorted({Path(file) for file in files if file is not None and Path(file).exists()})
