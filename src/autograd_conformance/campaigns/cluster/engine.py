"""A Dask cluster as campaigns use it: tasks are submitted with the resources that they need, and end in any order.

If a worker dies, the scheduler gives its tasks to other workers. A restarted scheduler has lost its tasks, which are
reported as lost. Without a scheduler the campaign ends, and can be resumed from the storage.
"""

from __future__ import annotations

import logging
import queue
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
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
"""Dask's settings for a local cluster. They set how many workers may die with a task before the task is considered the
cause. They also reduce Dask's housekeeping, which is meant for tasks of milliseconds and took 6 % of a core.
"""

REFRESH_SECONDS = 2.0
"""Seconds after which the list of the cluster's workers is read again."""

FETCH_SECONDS = 60.0
"""Time limit for fetching a task's result from a worker, in seconds."""

ANY_PORT = "127.0.0.1:0"
"""Address of the scheduler's web pages if no dashboard is requested. With the default address, a second campaign would
warn that the port is in use."""

TaskOutcome = Literal["returned", "lost", "failed"]


class NoCluster(Exception):
    """No cluster can be reached or started, or the connection was lost; the message says why."""


@dataclass(frozen=True, slots=True)
class TaskEnd:
    """The end of a task: its result, or the reason why there is none."""

    task: Any
    """The task, as it was submitted."""
    outcome: TaskOutcome
    """`returned`; `lost`: cancelled, or lost with its scheduler; `failed`: Dask could not run the task."""
    result: Any = None
    """The result of a task that returned."""
    reason: str = ""
    """The reason why there is no result."""
    worker: str = ""
    """The address of the worker that returned the result; empty if there is no result."""


@dataclass(frozen=True, slots=True)
class _Submitted:
    """A submitted task that has not ended."""

    task: object
    future: Any
    workers: frozenset[str]
    """The addresses of the workers that may run the task; empty means all."""


class Engine:
    """Submits tasks to a Dask cluster, and collects their results."""

    def __init__(self, client: Client, dashboard: str | None) -> None:
        self.client = client
        self.dashboard = dashboard
        """The address of Dask's dashboard, if there is one."""
        self._finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._tasks: dict[str, _Submitted] = {}
        self._submitted = 0
        self._workers: dict[str, Any] = {}
        self._refreshed = -REFRESH_SECONDS

    @property
    def busy(self) -> bool:
        """True if a task has not ended."""
        return bool(self._tasks)

    @property
    def workers(self) -> Mapping[str, Any]:
        """The scheduler's information about each worker, by the worker's address; it is at most a few seconds old."""
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
        """Returns the number of tasks with these needs that all workers together can run at once."""
        return sum(
            _capacity(each["nthreads"], each.get("resources") or {}, resources) for each in self.workers.values()
        )

    def submit(
        self,
        task: object,
        function: Callable[..., Any],
        *arguments: Any,
        resources: Mapping[str, float],
        first: bool,
        avoid: Collection[str] = (),
    ) -> None:
        """Submits a task: a worker calls `function` with the arguments. With `first`, the task precedes others. Workers
        with an address in `avoid` are used only if no other worker can run the task.
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
        """Returns the addresses of the workers that are not in `avoid` and can run the task."""
        others = ((worker, each) for worker, each in self.workers.items() if worker not in avoid)
        return frozenset(worker for worker, each in others if _capacity(1, each.get("resources") or {}, resources))

    def wait(self, seconds: float) -> Iterator[TaskEnd]:
        """Yields the tasks that have ended; waits for the first for a number of seconds at most."""
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

    def cancel(self, tasks: Sequence[object]) -> None:
        """Cancels tasks, running or not. They end as lost. A task need not have a hash."""
        futures = [submitted.future for submitted in self._tasks.values() if submitted.task in tasks]
        if futures:
            self.client.cancel(futures, asynchronous=False)

    def _cancel_stranded(self) -> None:
        """Cancels tasks whose permitted workers are all gone, as the scheduler would wait for these workers for
        ever.
        """
        kept_apart = (each for each in self._tasks.values() if each.workers)
        self.cancel([each.task for each in kept_apart if each.workers.isdisjoint(self.workers)])

    def stop(self) -> None:
        """Cancel the unfinished tasks. A task that is already running on a remote cluster still stores its records."""
        futures = [submitted.future for submitted in self._tasks.values()]
        self._tasks.clear()
        if futures and self.client.status == "running":
            self.client.cancel(futures, asynchronous=False)

    def _check_scheduler(self) -> None:
        """Raise `NoCluster` if the scheduler is gone and is not being reconnected."""
        if self.client.status not in ("running", "connecting"):
            raise NoCluster("the scheduler is gone")


def _call(function: Callable[..., Any], *arguments: Any) -> tuple[str, Any]:
    """Calls the function on a worker; returns the worker's address and the function's result."""
    return get_worker().address, function(*arguments)


def _task_end(task: Any, future: Any) -> TaskEnd:
    """Returns the end of the task whose future has finished."""
    if future.status == "cancelled":
        return TaskEnd(task, "lost", reason="the scheduler lost it")
    try:
        worker, result = future.result(timeout=FETCH_SECONDS)
        return TaskEnd(task, "returned", result, worker=worker)
    except Exception as error:  # of Dask: errors of a task are returned as its result
        return TaskEnd(task, "failed", reason=shortened(f"{type(error).__name__}: {error}", 400))


def _capacity(threads: int, has: Mapping[str, float], needs: Mapping[str, float]) -> int:
    """Returns the number of tasks with these needs that one worker can run at once."""
    return min([threads, *(int(has.get(name, 0) // amount) for name, amount in needs.items())])


@contextmanager
def local(workers: int, resources: Mapping[str, float], dashboard: str | None) -> Iterator[Engine]:
    """Starts a cluster on this machine, with a number of processes that each run one task at a time."""
    with dask.config.set(SETTINGS):
        try:
            cluster = LocalCluster(
                n_workers=workers, threads_per_worker=1, processes=True, resources=dict(resources) or None,
                dashboard_address=dashboard or ANY_PORT, silence_logs=logging.CRITICAL,
            )  # fmt: skip
        except (OSError, RuntimeError, ImportError) as error:
            raise NoCluster(f"no cluster can be started on this machine: {shortened(str(error)).rstrip('.')}") from None
        with cluster, Client(cluster) as client:
            yield Engine(client, str(client.dashboard_link) if dashboard else None)


@contextmanager
def remote(address: str) -> Iterator[Engine]:
    """Connects to an existing cluster, by the address of its scheduler or by the scheduler's file."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = Client(scheduler_file=address) if address.endswith(".json") else Client(address)
    except (OSError, TimeoutError, ValueError, ImportError) as error:
        raise NoCluster(f"there is no scheduler at {address}: {shortened(str(error))}") from None
    with client:
        yield Engine(client, str(client.dashboard_link))
