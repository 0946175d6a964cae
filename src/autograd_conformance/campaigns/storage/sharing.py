"""Checks that workers write to the same storage as this process. Each worker is checked once."""

from __future__ import annotations

from autograd_conformance.campaigns.storage.storage import Storage, StorageError


class Sharing:
    """The workers that are known to share the storage with this process."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self._workers: set[str] = set()

    def check(self, name: str, worker: str) -> None:
        """Raise `StorageError` if a file that a worker created is not visible to this process."""
        if worker in self._workers:
            return
        if self.storage.read(name) is None:
            raise StorageError(
                f"{self.storage.url}: {worker} created {name}, but this process does not find it; choose a "
                "storage that all workers share"
            )
        self._workers.add(worker)
