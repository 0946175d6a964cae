"""Checks, once for each worker, that the worker writes to the same storage as this process."""

from __future__ import annotations

from autograd_conformance.campaigns.storage.storage import Storage, StorageError


class Sharing:
    """Remembers which workers are known to share the storage with this process."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self._workers: set[str] = set()

    def check(self, name: str, worker: str) -> None:
        """Raises `StorageError` if the file `name`, which a worker created, is not visible to this process."""
        if worker in self._workers:
            return
        if self.storage.read(name) is None:
            raise StorageError(
                f"{self.storage.url}: {worker} created {name}, but this process does not find it; choose a "
                "storage that all workers share"
            )
        self._workers.add(worker)
