"""What was staged once is kept on disk: a cold start traces nothing that any earlier run traced.

One SQLite file, shared by all workers and runs: under `.cache` in a checkout, in the user's cache folder where the
package is installed. Its rows are compiled code, keyed by a digest of all that this depends on, so that an edited op or
another version of JAX or Python never meets old code. Each is signed (`reference.staging.signature`): what this user's
key did not sign is not read, and made again. Losing the file costs time, nothing else.
"""

from __future__ import annotations

import atexit
import hashlib
import marshal
import os
import pickle
import sqlite3
import sys
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

from autograd_conformance.places import PACKAGE, ROOT
from autograd_conformance.programs.own_numpy import np, rebound
from autograd_conformance.reference.staging.numpy_source import Loaded, Source
from autograd_conformance.reference.staging.signature import cache, checked, key, make_private, signed

BATCH = 64
"""How many new sources are collected before they are written."""

STAGING = (
    "places.py",
    "programs/**/*.py",
    "ops/**/*.py",
    "reference/staging/*.py",
    "reference/optimizers.py",
)
"""The files that staged code depends on."""


@lru_cache(maxsize=1)
def sources() -> tuple[Path, ...]:
    """The files that staged code depends on: those that stage, and all of ours that they import, at any depth."""
    return tuple(sorted(path for pattern in STAGING for path in PACKAGE.glob(pattern)))


@lru_cache(maxsize=1)
def _digest() -> str:
    """A digest of what staged code depends on: `sources`, and the versions of what traces, compiles and runs it."""
    hasher = hashlib.sha256(f"{version('jax')} {np.__version__} {sys.version}".encode())
    for path in sources():
        hasher.update(path.read_bytes())
    return hasher.hexdigest()[:16]


class Store:
    """Staged sources by key; every failure of the disk is taken as an empty store, and a place that cannot be kept from
    others, too.
    """

    def __init__(self, path: Path, secret: bytes | None = None) -> None:
        self.path = path
        self.secret = secret if secret is not None else _secret()
        """What rows are signed with; None: nothing is read, and nothing written."""
        self.fresh: dict[str, bytes] = {}
        self.process = os.getpid()
        self._reader: tuple[int, sqlite3.Connection | None] | None = None
        """The process that reads, and what it reads from: no connection survives a fork."""
        atexit.register(self.close)

    def _open(self) -> sqlite3.Connection:
        if self.secret is None or not make_private(self.path.parent):
            raise OSError(f"{self.path.parent} cannot be kept from others")
        database = sqlite3.connect(self.path, timeout=5)
        database.execute(
            "CREATE TABLE IF NOT EXISTS staged (digest TEXT, key TEXT, source BLOB, PRIMARY KEY (digest, key))"
        )
        return database

    def _reading(self) -> sqlite3.Connection | None:
        """What this process reads from; none where nothing can be read."""
        if self._reader is None or self._reader[0] != os.getpid():
            try:
                self._reader = os.getpid(), self._open()
            except sqlite3.DatabaseError as error:
                self._reader = os.getpid(), None
                self._damaged(error)
            except OSError:
                self._reader = os.getpid(), None
        return self._reader[1]

    def _damaged(self, error: sqlite3.DatabaseError) -> None:
        """Remove a file that is no database, which would keep every later run cold."""
        if not isinstance(error, sqlite3.OperationalError):  # busy, or out of reach
            self.path.unlink(missing_ok=True)

    def _known(self, name: str) -> bytes | None:
        """What was stored under a name before this process began, or meanwhile, and is signed."""
        database = self._reading()
        if database is None or self.secret is None:
            return None
        try:
            row = database.execute("SELECT source FROM staged WHERE digest = ? AND key = ?", (_digest(), name))
            found = next((found for (found,) in row), None)
            return checked(found, self.secret, _digest(), name) if isinstance(found, bytes) else None
        except sqlite3.DatabaseError as error:
            self._reader = os.getpid(), None
            self._damaged(error)
            return None

    def staged(self, about: object, make: Callable[[], Source]) -> Loaded:
        """What the source defines that is stored under a key, or that `make` makes."""
        return self._source(about, make).loaded()

    def _source(self, about: object, make: Callable[[], Source]) -> Source:
        """The source stored under a key, or the one that `make` makes, stored for next time."""
        name = repr(about)
        known = self.fresh.get(name) or self._known(name)
        if known is not None:
            try:
                code, constants, reads = pickle.loads(known)
                return Source(marshal.loads(code), constants, reads)
            except (pickle.UnpicklingError, EOFError, TypeError, ValueError):
                pass  # damaged: it is made again
        source = make()
        if source.portable:
            self.fresh[name] = pickle.dumps((marshal.dumps(source.code), source.constants, source.reads))
            if len(self.fresh) % BATCH == 0:
                self.flush()
        return source

    def flush(self) -> None:
        """Write what is new; what cannot be written is kept in memory."""
        if not self.fresh or os.getpid() != self.process or self.secret is None:
            return
        if rebound():  # what was traced by then may be wrong
            return
        digest, secret = _digest(), self.secret
        rows = [(digest, name, signed(source, secret, digest, name)) for name, source in self.fresh.items()]
        try:
            with self._open() as database:
                database.execute("DELETE FROM staged WHERE digest != ?", (_digest(),))
                database.executemany("INSERT OR REPLACE INTO staged VALUES (?, ?, ?)", rows)
            self.fresh.clear()
        except (sqlite3.Error, OSError):
            pass

    def close(self) -> None:
        """Write what is new, and read no more."""
        self.flush()
        if self._reader is not None and self._reader[0] == os.getpid() and self._reader[1] is not None:
            self._reader[1].close()
        self._reader = None


def folder() -> Path:
    """Where the file lies: in the checkout, or in the user's cache folder where there is none, or it is another's."""
    own = ROOT / ".cache"
    return own if (ROOT / "pyproject.toml").exists() and make_private(own) else cache()


def _secret() -> bytes | None:
    """This user's key, if it can be kept."""
    try:
        return key(cache())
    except OSError:
        return None


@lru_cache(maxsize=1)
def store() -> Store:
    """The store of this checkout, or of this user."""
    return Store(folder() / "staged.sqlite")
