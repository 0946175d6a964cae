"""What earlier runs' audits found, kept on disk: an op that was right is not audited again until something changes.

One JSON file beside the reference's staged code, keyed by a digest of everything that the outcome hangs on and that can
be seen from here: the framework's name and version, the adapter's source, the suite's own. A framework that is built
anew under one version, and gets an op wrong, is caught by the tests of that op, which run what the audit runs.
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

from autograd_conformance import sources
from autograd_conformance.checking.audit.notes import Note
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.frameworks.remote.client import Remote
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.staging.cache import folder

KEPT = 32
"""How many audits are kept, the latest."""

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
"""The folders of the suite that an audit's outcome depends on."""


class Store:
    """The notes of the audits of one framework as it is now; a file that cannot be read or written costs time alone."""

    def __init__(self, target: Target, *asked: object, path: Path | None = None) -> None:
        self.path = path or folder() / "audited.json"
        self.key = digest(target, *asked)

    def notes(self, holds: Callable[[Note], bool]) -> dict[str, Note]:
        """What was noted of each op, as far as it `holds` whatever became of the op since."""
        found = (Note._make(note) for note in self._read().get(self.key, ()))
        return {note.op: note for note in found if holds(note)}

    def keep(self, notes: Mapping[str, Note]) -> None:
        """Keep what was noted of each op."""
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


def digest(target: Target, *asked: object) -> str:
    """A digest of all that an audit's outcome depends on and that can be seen."""
    versions = (version("jax"), np.__version__, target.name, target.version)
    claims = sorted(target.ops), sorted(each.name for each in target.capabilities), target.traits
    hasher = hashlib.sha256(f"{versions} {asked} {claims} {sources.digest(*SOURCES)}".encode())
    if isinstance(target, Remote):
        hasher.update(target.handshake.digest.encode())
    for source in _adapter(target):
        hasher.update(source.read_bytes())
    return hasher.hexdigest()[:16]


def _adapter(target: Target) -> list[Path]:
    """The files in which the class of an adapter in this process, and those that it derives from, are written."""
    files = []
    for each in type(target.adapter).__mro__ if isinstance(target, InProcess) else ():
        try:
            files.append(inspect.getsourcefile(each))
        except (TypeError, OSError):  # built in, or written nowhere
            continue
    return sorted({Path(file) for file in files if file is not None and Path(file).exists()})
