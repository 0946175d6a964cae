"""The cache on disk of staged functions (NumPy code that was traced from JAX), so that a new process traces nothing
that an earlier run traced.

It is one SQLite file, shared by all workers and runs: in `.cache` of a checkout, or in the user's cache folder if the
package is installed. Its rows contain compiled code of functions that were traced here, or that come with the package
(`reference.staging.traced`). Each row's key includes a digest of everything on which code that is traced here depends,
so that an edited op, or another version of JAX or Python, never uses old code. Each row is signed
(`reference.staging.signature`): rows that this user's key did not sign are ignored and staged again. Deleting the file
only costs time.
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

from autograd_conformance.package.places import PACKAGE, ROOT
from autograd_conformance.programs.own_numpy import np, rebound
from autograd_conformance.reference.staging.signature import cache, checked, key, make_private, signed
from autograd_conformance.reference.staging.source import Compiled, Loaded, Source
from autograd_conformance.reference.staging.traced import Traced

BATCH = 64
"""Number of new staged functions after which they are written to disk."""

STAGING = (
    "package/places.py",
    "programs/**/*.py",
    "ops/**/*.py",
    "reference/staging/*.py",
    "reference/optimizers.py",
)
"""The files, as patterns, on which the code of staged functions depends."""


@lru_cache(maxsize=1)
def sources() -> tuple[Path, ...]:
    """Returns the files on which the code of staged functions depends: those that stage it, and all modules of the
    suite that they import, at any depth.
    """
    return tuple(sorted(path for pattern in STAGING for path in PACKAGE.glob(pattern)))


@lru_cache(maxsize=1)
def _digest() -> str:
    """Returns a digest of everything on which staged code depends: the files in `sources`, and the versions of JAX,
    NumPy and Python.
    """
    hasher = hashlib.sha256(f"{version('jax')} {np.__version__} {sys.version}".encode())
    for path in sources():
        hasher.update(path.read_bytes())
    return hasher.hexdigest()[:16]


class Store:
    """Stores the code of staged functions by key, in memory and in a file. If the disk fails, or if the folder cannot
    be made private, the file counts as empty.
    """

    def __init__(self, path: Path, secret: bytes | None = None) -> None:
        self.path = path
        self.traced = Traced()
        self.secret = secret if secret is not None else _secret()
        """The key that signs rows; if it is None, nothing is read or written."""
        self.fresh: dict[str, bytes] = {}
        self.process = os.getpid()
        self._without_old = False
        """Whether the rows of other versions were deleted, which takes longer than writing new ones."""
        self._reader: tuple[int, sqlite3.Connection | None] | None = None
        """The ID of the process that opened the connection for reading, and the connection, which does not survive a
        fork."""
        atexit.register(self.close)

    def _open(self) -> sqlite3.Connection:
        if self.secret is None or not make_private(self.path.parent):
            raise OSError(f"{self.path.parent} cannot be made private")
        database = sqlite3.connect(self.path, timeout=5)
        database.execute(
            "CREATE TABLE IF NOT EXISTS staged (digest TEXT, key TEXT, source BLOB, PRIMARY KEY (digest, key))"
        )
        return database

    def _reading(self) -> sqlite3.Connection | None:
        """Returns this process's database connection for reading; None if nothing can be read."""
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
        """Removes a file that is not a database, so that later runs can store code again."""
        if not isinstance(error, sqlite3.OperationalError):  # busy or unreachable
            self.path.unlink(missing_ok=True)

    def _known(self, name: str) -> bytes | None:
        """Returns the validly signed row with a name from the file, whichever process wrote it; None if there is
        none.
        """
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
        """Returns the function whose code is stored under the key `about`; if there is none, `make` makes the code."""
        return self._compiled(about, make).loaded()

    def _compiled(self, about: object, make: Callable[[], Source]) -> Compiled:
        """Returns the code that is stored under the key `about`. If there is none, it is looked up among the functions
        that come with the package; else `make` makes it. It is stored then.
        """
        name = repr(about)
        known = self.fresh.get(name) or self._known(name) or self._shipped(about, name)
        if known is not None:
            try:
                code, constants, reads = pickle.loads(known)
                return Compiled(marshal.loads(code), constants, reads)
            except (pickle.UnpicklingError, EOFError, TypeError, ValueError):
                pass  # damaged: make it again
        made = make().compiled()
        if made.portable:
            self.fresh[name] = _packed(made)
            if len(self.fresh) % BATCH == 0:
                self.flush()
        return made

    def _shipped(self, about: object, name: str) -> bytes | None:
        """Returns the code of a function that comes with the package, if there is one with this key. Then all of its op
        are stored, since the others are likely to be needed, too.
        """
        functions = self.traced.beside(about)
        if not functions:
            return None
        self.fresh.update((each, _packed(source.compiled())) for each, source in functions.items())
        found = self.fresh[name]
        self.flush()
        return found

    def flush(self) -> None:
        """Writes new code to disk; if that fails, it stays in memory."""
        if not self.fresh or os.getpid() != self.process or self.secret is None:
            return
        if rebound():  # functions traced since then may be wrong
            return
        digest, secret = _digest(), self.secret
        rows = [(digest, name, signed(source, secret, digest, name)) for name, source in self.fresh.items()]
        try:
            with self._open() as database:
                if not self._without_old:
                    database.execute("DELETE FROM staged WHERE digest != ?", (digest,))
                database.executemany("INSERT OR REPLACE INTO staged VALUES (?, ?, ?)", rows)
            self.fresh.clear()
            self._without_old = True
        except (sqlite3.Error, OSError):
            pass

    def close(self) -> None:
        """Writes new code to disk, and closes the connection to the database."""
        self.flush()
        if self._reader is not None and self._reader[0] == os.getpid() and self._reader[1] is not None:
            self._reader[1].close()
        self._reader = None


def _packed(compiled: Compiled) -> bytes:
    return pickle.dumps((marshal.dumps(compiled.code), compiled.constants, compiled.reads))


def folder() -> Path:
    """Returns the folder of the cache's file: in the checkout, or in the user's cache folder if there is no checkout or
    it belongs to another user.
    """
    own = ROOT / ".cache"
    return own if (ROOT / "pyproject.toml").exists() and make_private(own) else cache()


def _secret() -> bytes | None:
    """Returns the key with which this user's rows are signed; None if it cannot be stored."""
    try:
        return key(cache())
    except OSError:
        return None


@lru_cache(maxsize=1)
def store() -> Store:
    """Returns the store of this checkout, or of this user; the same object in each call."""
    return Store(folder() / "staged.sqlite")
