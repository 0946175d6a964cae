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

REFRESH_SECONDS = 2.0
"""Seconds for which it is taken that there are as many workers as before."""

FETCH_SECONDS = 60.0
"""Seconds that a worker may take to hand over what a task came to."""

ANY_PORT = "127.0.0.1:0"
"""Where the scheduler's own pages are that nobody asked for: else a second campaign warns that Dask's port is taken."""

TaskOutcome = Literal["returned", "lost", "failed"]


class NoCluster(Exception):
    """There is no cluster to work on, or there is none any more; the message says why."""


@dataclass(frozen=True, slots=True)
class TaskEnd:
    """A task that ended."""

    task: Any
    """What was asked for."""
    outcome: TaskOutcome
    """Answered, lost with the scheduler that had it or given up, or failed: neither its own doing nor an answer."""
    result: Any = None
    """What it came to, where it answered."""
    reason: str = ""
    """Why it did not, in words."""
    worker: str = ""
    """The address of the worker that answered."""


@dataclass(frozen=True, slots=True)
class _Submitted:
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
        self._finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._tasks: dict[str, _Submitted] = {}
        self._submitted = 0
        self._workers: dict[str, Any] = {}
        self._refreshed = -REFRESH_SECONDS

    @property
    def busy(self) -> bool:
        """Whether any task has not ended."""
        return bool(self._tasks)

    @property
    def workers(self) -> Mapping[str, Any]:
        """What the scheduler knows of each worker, a moment ago."""
        self._check_scheduler()
        if self.client.status == "running" and time.monotonic() - self._refreshed > REFRESH_SECONDS:
            try:
                self._workers = dict(self.client.scheduler_info(n_workers=-1)["workers"])
            except (OSError, TimeoutError) as error:
                reason = shortened(str(error) or type(error).__name__)
                raise NoCluster(f"the scheduler does not answer: {reason}") from None
            self._refreshed = time.monotonic()
        return self._workers

    def capacity(self, resources: Mapping[str, float]) -> int:
        """How many tasks that take some resources all workers have place for at once."""
        return sum(
            _capacity(each["nthreads"], each.get("resources") or {}, resources) for each in self.workers.values()
        )

    def submit(
        self,
        task: Hashable,
        function: Callable[..., Any],
        *arguments: Any,
        resources: Mapping[str, float],
        first: bool,
        avoid: Collection[str] = (),
    ) -> None:
        """Have a worker call a function; `first` where that is to come before other tasks. The workers at the addresses
        `avoid` do it where nobody else could.
        """
        self._check_scheduler()
        self._submitted += 1
        key = f"{function.__name__}-{self._submitted}"
        workers = self._other_workers(avoid, resources) if avoid else frozenset()
        future = self.client.submit(
            _call, function, *arguments, key=key, pure=False, resources=dict(resources) or None, priority=int(first),
            workers=sorted(workers) or None,
        )  # fmt: skip
        self._tasks[key] = _Submitted(task, future, workers)
        future.add_done_callback(self._finished.put)

    def _other_workers(self, avoid: Collection[str], resources: Mapping[str, float]) -> frozenset[str]:
        """The workers with other addresses that have place for a task."""
        others = ((worker, each) for worker, each in self.workers.items() if worker not in avoid)
        return frozenset(worker for worker, each in others if _capacity(1, each.get("resources") or {}, resources))

    def wait(self, seconds: float) -> Iterator[TaskEnd]:
        """The tasks that have ended; some seconds go by at most until the first does."""
        ended = []
        try:
            ended.append(self._finished.get(timeout=seconds))
            while True:
                ended.append(self._finished.get_nowait())
        except queue.Empty:
            self._check_scheduler()
            self._cancel_stranded()
        for future in ended:
            yield _task_end(self._tasks.pop(future.key).task, future)

    def cancel(self, tasks: Container[Hashable]) -> None:
        """Let go of some tasks, begun or not; they are told as lost."""
        futures = [submitted.future for submitted in self._tasks.values() if submitted.task in tasks]
        if futures:
            self.client.cancel(futures, asynchronous=False)

    def _cancel_stranded(self) -> None:
        """Let go of the tasks whose workers have all gone: the scheduler would wait for them for ever."""
        kept_apart = (each for each in self._tasks.values() if each.workers)
        self.cancel({each.task for each in kept_apart if each.workers.isdisjoint(self.workers)})

    def stop(self) -> None:
        """Give up what has not begun yet; what runs on a cluster of others is kept when it ends."""
        futures = [submitted.future for submitted in self._tasks.values()]
        self._tasks.clear()
        if futures and self.client.status == "running":
            self.client.cancel(futures, asynchronous=False)

    def _check_scheduler(self) -> None:
        """See whether there is a scheduler, or one may come back."""
        if self.client.status not in ("running", "connecting"):
            raise NoCluster("the scheduler is gone")


def _call(function: Callable[..., Any], *arguments: Any) -> tuple[str, Any]:
    """What a worker does: the address where it did so, and what the function gave."""
    return get_worker().address, function(*arguments)


def _task_end(task: Any, future: Any) -> TaskEnd:
    """What a future came to."""
    if future.status == "cancelled":
        return TaskEnd(task, "lost", reason="the scheduler lost it")
    try:
        worker, result = future.result(timeout=FETCH_SECONDS)
        return TaskEnd(task, "returned", result, worker=worker)
    except Exception as error:  # of Dask: what goes wrong in a task is its answer
        return TaskEnd(task, "failed", reason=shortened(f"{type(error).__name__}: {error}", 400))


def _capacity(threads: int, has: Mapping[str, float], needs: Mapping[str, float]) -> int:
    """How many tasks with such needs a worker takes at once."""
    return min([threads, *(int(has.get(name, 0) // amount) for name, amount in needs.items())])


@contextmanager
def local(workers: int, resources: Mapping[str, float], dashboard: str | None) -> Iterator[Engine]:
    """A cluster of this machine's: so many processes, each of which runs one shard at a time."""
    with dask.config.set(SETTINGS):
        try:
            cluster = LocalCluster(
                n_workers=workers, threads_per_worker=1, processes=True, resources=dict(resources) or None,
                dashboard_address=dashboard or ANY_PORT, silence_logs=logging.CRITICAL,
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
