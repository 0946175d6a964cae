"""Where a campaign's records are kept: a folder, or an object store's, in which a file is made once and whole.

Two processes that make one file at one time agree on who made it: a folder's file system links a finished file to its
name and refuses the second link; an object store is asked to put an object only where there is none (``If-None-Match``
in S3's words), which fsspec calls ``mode="create"``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar
from uuid import uuid4

from fsspec import AbstractFileSystem
from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem

TRIES = 4
"""How often something is asked of a store that fails at times."""

PARTIAL = ".part-"
"""What the names of files begin with that are not whole yet, in a folder."""

T = TypeVar("T")


class StorageError(Exception):
    """Something of the storage could not be read or written; the message says what and why."""


@dataclass(frozen=True)
class Storage:
    """A place for files, each made once. It can be sent to other processes."""

    url: str
    """A folder, or the URL of one."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What fsspec is told beside the URL."""
    pause: float = 1.0
    """Seconds before the second try; twice as long before each other one."""

    @cached_property
    def _file_system(self) -> tuple[AbstractFileSystem, str]:
        try:
            system, root = url_to_fs(self.url, use_listings_cache=False, **self.options)
        except (ImportError, ValueError, TypeError) as error:
            raise StorageError(f"{self.url}: {error}") from None
        return system, str(root).rstrip("/")

    def __getstate__(self) -> dict[str, Any]:
        return {"url": self.url, "options": self.options, "pause": self.pause}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)

    def create(self, name: str, data: bytes) -> bool:
        """Make a file; False where there is one of that name, which stays as it is."""
        system, root = self._file_system
        path = f"{root}/{name}"
        make = _create_file if isinstance(system, LocalFileSystem) else _create_object
        try:
            self._retried(lambda: make(system, path, data))
        except FileExistsError:
            return False
        except FileNotFoundError as error:  # a bucket, or a folder of the system's that takes none
            raise StorageError(f"{self.url}: {error.strerror or error}") from None
        return True

    def read(self, name: str) -> bytes | None:
        """What a file holds; None where there is none."""
        system, root = self._file_system
        try:
            return bytes(self._retried(lambda: system.cat_file(f"{root}/{name}")))
        except FileNotFoundError:
            return None

    def read_all(self, names: Iterable[str]) -> dict[str, bytes]:
        """What some files hold, asked for at once."""
        system, root = self._file_system
        paths = {f"{root}/{name}": name for name in names}
        if not paths:
            return {}
        found = self._retried(lambda: system.cat(list(paths), recursive=False))
        if isinstance(found, bytes):
            found = {next(iter(paths)): found}
        return {paths[path]: bytes(data) for path, data in found.items()}

    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder, and in those below it, in their order."""
        system, root = self._file_system
        try:
            found = self._retried(lambda: system.find(f"{root}/{folder}"))
        except FileNotFoundError:
            return []
        names = (str(path).removeprefix(f"{root}/") for path in found)
        return sorted(name for name in names if not name.rpartition("/")[2].startswith(PARTIAL))

    def _retried(self, operation: Callable[[], T]) -> T:
        """What the storage answers; asked again where it fails in a way that may pass."""
        pause = self.pause
        for left in reversed(range(TRIES)):
            try:
                return operation()
            except (FileExistsError, FileNotFoundError):
                raise
            except (PermissionError, NotADirectoryError, IsADirectoryError) as error:
                raise StorageError(f"{self.url}: {error.strerror or error}") from None
            except Exception as error:  # each store has exceptions of its own
                if not left:
                    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
                    raise StorageError(f"{self.url}: {reason}") from error
            time.sleep(pause)
            pause *= 2
        raise AssertionError("the last try returns or raises")


def _create_file(system: AbstractFileSystem, path: str, data: bytes) -> None:
    """Make a file of this machine's: written aside, and then linked to its name, which fails where that is taken."""
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    partial = os.path.join(folder, f"{PARTIAL}{uuid4().hex}")
    try:
        with open(partial, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.link(partial, path)
    finally:
        with suppress(OSError):
            os.unlink(partial)


def _create_object(system: AbstractFileSystem, path: str, data: bytes) -> None:
    """Make an object, if there is none."""
    system.pipe_file(path, data, mode="create")
