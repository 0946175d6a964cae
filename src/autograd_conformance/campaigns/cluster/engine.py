"""Dask as a campaign uses it: tasks go out with what they need of a worker, and come back in whichever order they end.

Workers that die, and the tasks that they had, are the scheduler's business: it gives such a task to another worker. A
scheduler that comes back has forgotten its tasks, and they are told as lost; without one the campaign ends, and goes on
later from what is kept.
"""

from __future__ import annotations

import logging
import queue
import time
from collections.abc import Callable, Collection, Container, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import dask
from distributed import Client, LocalCluster, get_worker

from autograd_conformance.reporting.prose import shortened

SETTINGS = {
    "distributed.scheduler.allowed-failures": 5,
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "2s",
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "5s",
}
"""Dask's settings for a cluster of this machine. How many workers may die with one task before it counts as what kills
them; and how often Dask looks after itself, which is meant for tasks of milliseconds, and took 6 % of a core.
"""

REFRESH = 2.0
"""Seconds for which it is taken that there are as many workers as before."""

FETCH = 60.0
"""Seconds that a worker may take to hand over what a task came to."""

ANYWHERE = "127.0.0.1:0"
"""Where the scheduler's own pages are that nobody asked for: else a second campaign warns that Dask's port is taken."""

How = Literal["answered", "lost", "failed"]


class NoCluster(Exception):
    """There is no cluster to work on, or there is none any more; the message says why."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A task that ended."""

    task: Any
    """What was asked for."""
    how: How
    """Answered, lost with the scheduler that had it or given up, or failed: neither its own doing nor an answer."""
    answer: Any = None
    """What it came to, where it answered."""
    said: str = ""
    """Why it did not, in words."""
    at: str = ""
    """The address of the worker that answered."""


@dataclass(frozen=True, slots=True)
class _Begun:
    """A task that has not ended."""

    task: Hashable
    future: Any
    workers: frozenset[str]
    """The addresses of the workers that may have it; none: all."""


class Engine:
    """A cluster of Dask's, and the tasks that it has."""

    def __init__(self, client: Client, dashboard: str | None) -> None:
        self.client = client
        self.dashboard = dashboard
        """The address of Dask's dashboard, where there is one."""
        self._ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._tasks: dict[str, _Begun] = {}
        self._begun = 0
        self._workers: dict[str, Any] = {}
        self._asked = -REFRESH

    @property
    def busy(self) -> bool:
        """Whether any task has not ended."""
        return bool(self._tasks)

    @property
    def workers(self) -> Mapping[str, Any]:
        """What the scheduler knows of each worker, a moment ago."""
        self._look()
        if self.client.status == "running" and time.monotonic() - self._asked > REFRESH:
            try:
                self._workers = dict(self.client.scheduler_info(n_workers=-1)["workers"])
            except (OSError, TimeoutError) as error:
                said = shortened(str(error) or type(error).__name__)
                raise NoCluster(f"the scheduler does not answer: {said}") from None
            self._asked = time.monotonic()
        return self._workers

    def places(self, resources: Mapping[str, float]) -> int:
        """How many tasks that take some resources all workers have place for at once."""
        return sum(_places(each["nthreads"], each.get("resources") or {}, resources) for each in self.workers.values())

    def begin(
        self,
        task: Hashable,
        function: Callable[..., Any],
        *given: Any,
        resources: Mapping[str, float],
        first: bool,
        apart_from: Collection[str] = (),
    ) -> None:
        """Have a worker call a function; `first` where that is to come before other tasks. The workers at the addresses
        `apart_from` do it where nobody else could.
        """
        self._look()
        self._begun += 1
        key = f"{function.__name__}-{self._begun}"
        workers = self._others(apart_from, resources) if apart_from else frozenset()
        future = self.client.submit(
            _answer, function, *given, key=key, pure=False, resources=dict(resources) or None, priority=int(first),
            workers=sorted(workers) or None,
        )  # fmt: skip
        self._tasks[key] = _Begun(task, future, workers)
        future.add_done_callback(self._ended.put)

    def _others(self, apart_from: Collection[str], resources: Mapping[str, float]) -> frozenset[str]:
        """The workers with other addresses that have place for a task."""
        others = ((at, each) for at, each in self.workers.items() if at not in apart_from)
        return frozenset(at for at, each in others if _places(1, each.get("resources") or {}, resources))

    def wait(self, seconds: float) -> Iterator[Ended]:
        """The tasks that have ended; some seconds go by at most until the first does."""
        ended = []
        try:
            ended.append(self._ended.get(timeout=seconds))
            while True:
                ended.append(self._ended.get_nowait())
        except queue.Empty:
            self._look()
            self._give_up_stranded()
        for future in ended:
            yield _ended(self._tasks.pop(future.key).task, future)

    def give_up(self, tasks: Container[Hashable]) -> None:
        """Let go of some tasks, begun or not; they are told as lost."""
        futures = [begun.future for begun in self._tasks.values() if begun.task in tasks]
        if futures:
            self.client.cancel(futures, asynchronous=False)

    def _give_up_stranded(self) -> None:
        """Let go of the tasks whose workers have all gone: the scheduler would wait for them for ever."""
        kept_apart = (each for each in self._tasks.values() if each.workers)
        self.give_up({each.task for each in kept_apart if each.workers.isdisjoint(self.workers)})

    def stop(self) -> None:
        """Give up what has not begun yet; what runs on a cluster of others is kept when it ends."""
        futures = [begun.future for begun in self._tasks.values()]
        self._tasks.clear()
        if futures and self.client.status == "running":
            self.client.cancel(futures, asynchronous=False)

    def _look(self) -> None:
        """See whether there is a scheduler, or one may come back."""
        if self.client.status not in ("running", "connecting"):
            raise NoCluster("the scheduler is gone")


def _answer(function: Callable[..., Any], *given: Any) -> tuple[str, Any]:
    """What a worker does: the address where it did so, and what the function gave."""
    return get_worker().address, function(*given)


def _ended(task: Any, future: Any) -> Ended:
    """What a future came to."""
    if future.status == "cancelled":
        return Ended(task, "lost", said="the scheduler lost it")
    try:
        at, answer = future.result(timeout=FETCH)
        return Ended(task, "answered", answer, at=at)
    except Exception as error:  # of Dask: what goes wrong in a task is its answer
        return Ended(task, "failed", said=shortened(f"{type(error).__name__}: {error}", 400))


def _places(threads: int, has: Mapping[str, float], needs: Mapping[str, float]) -> int:
    """How many tasks with such needs a worker takes at once."""
    return min([threads, *(int(has.get(name, 0) // amount) for name, amount in needs.items())])


@contextmanager
def local(workers: int, resources: Mapping[str, float], dashboard: str | None) -> Iterator[Engine]:
    """A cluster of this machine's: so many processes, each of which runs one shard at a time."""
    with dask.config.set(SETTINGS):
        try:
            cluster = LocalCluster(
                n_workers=workers, threads_per_worker=1, processes=True, resources=dict(resources) or None,
                dashboard_address=dashboard or ANYWHERE, silence_logs=logging.CRITICAL,
            )  # fmt: skip
        except (OSError, RuntimeError, ImportError) as error:
            raise NoCluster(f"there is no cluster to be had here: {shortened(str(error)).rstrip('.')}") from None
        with cluster, Client(cluster) as client:
            yield Engine(client, str(client.dashboard_link) if dashboard else None)


@contextmanager
def remote(address: str) -> Iterator[Engine]:
    """A cluster that is there already, by the address of its scheduler, or the file that its scheduler wrote."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = Client(scheduler_file=address) if address.endswith(".json") else Client(address)
    except (OSError, TimeoutError, ValueError, ImportError) as error:
        raise NoCluster(f"there is no scheduler at {address}: {shortened(str(error))}") from None
    with client:
        yield Engine(client, str(client.dashboard_link))
