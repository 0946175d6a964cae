"""The storage of a campaign: a folder, or a folder of an object store, in which a file is created once and completely.

If two processes create the same file at the same time, exactly one succeeds. In a folder, a complete file is linked to
its name, and the file system refuses a second link. In an object store, an object is put only if there is none
(``If-None-Match`` of S3), which fsspec calls ``mode="create"``.
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
"""Largest number of attempts of an operation on the storage, as object stores fail at times."""

PARTIAL = ".part-"
"""Prefix of the names of incomplete files in a folder."""

T = TypeVar("T")


class StorageError(Exception):
    """The storage could not be read or written; the message says what failed and why."""


@dataclass(frozen=True)
class Storage:
    """A storage of files that are created once and never changed. It can be pickled and sent to other processes."""

    url: str
    """The path of a folder, or the URL of one that fsspec accepts."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options for fsspec besides the URL."""
    pause: float = 1.0
    """Seconds before the first retry; each further pause is twice as long."""

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
        """Creates a file. Returns False, and changes nothing, if a file with that name exists."""
        system, root = self._file_system
        path = f"{root}/{name}"
        make = _create_file if isinstance(system, LocalFileSystem) else _create_object
        try:
            self._retried(lambda: make(system, path, data))
        except FileExistsError:
            return False
        except FileNotFoundError as error:  # a missing bucket, or a folder that does not accept files
            raise StorageError(f"{self.url}: {error.strerror or error}") from None
        return True

    def read(self, name: str) -> bytes | None:
        """Returns the content of a file; None if there is none."""
        system, root = self._file_system
        try:
            return bytes(self._retried(lambda: system.cat_file(f"{root}/{name}")))
        except FileNotFoundError:
            return None

    def read_all(self, names: Iterable[str]) -> dict[str, bytes]:
        """Returns the contents of several files, read at once."""
        system, root = self._file_system
        paths = {f"{root}/{name}": name for name in names}
        if not paths:
            return {}
        found = self._retried(lambda: system.cat(list(paths), recursive=False))
        if isinstance(found, bytes):
            found = {next(iter(paths)): found}
        return {paths[path]: bytes(data) for path, data in found.items()}

    def names(self, folder: str) -> list[str]:
        """Returns the sorted names, relative to the storage, of the complete files in a folder and its subfolders."""
        system, root = self._file_system
        try:
            found = self._retried(lambda: system.find(f"{root}/{folder}"))
        except FileNotFoundError:
            return []
        names = (str(path).removeprefix(f"{root}/") for path in found)
        return sorted(name for name in names if not name.rpartition("/")[2].startswith(PARTIAL))

    def _retried(self, operation: Callable[[], T]) -> T:
        """Calls an operation, again after errors that may pass, and returns its result."""
        pause = self.pause
        for left in reversed(range(TRIES)):
            try:
                return operation()
            except (FileExistsError, FileNotFoundError):
                raise
            except (PermissionError, NotADirectoryError, IsADirectoryError) as error:
                raise StorageError(f"{self.url}: {error.strerror or error}") from None
            except Exception as error:  # each kind of store has its own exceptions
                if not left:
                    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
                    raise StorageError(f"{self.url}: {reason}") from error
            time.sleep(pause)
            pause *= 2
        raise AssertionError("the last try returns or raises")


def _create_file(system: AbstractFileSystem, path: str, data: bytes) -> None:
    """Create a local file: write it under another name, and link it to its name, which fails if the name exists."""
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
    """Create an object if there is none with that name."""
    system.pipe_file(path, data, mode="create")
