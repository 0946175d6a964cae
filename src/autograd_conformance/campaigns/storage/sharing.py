"""Whether workers keep what they do where it is seen here: each is looked at once."""

from __future__ import annotations

from autograd_conformance.campaigns.storage.storage import Storage, StorageError


class Sharing:
    """The workers of which it is known that they share a storage with this process."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self._workers: set[str] = set()

    def check(self, name: str, worker: str) -> None:
        """See that a file which a worker says it made is there; `StorageError` where it is not."""
        if worker in self._workers:
            return
        if self.storage.read(name) is None:
            raise StorageError(
                f"{self.storage.url}: {name}, which {worker} made, is not there for this process; name a storage that "
                "all of them share"
            )
        self._workers.add(worker)
