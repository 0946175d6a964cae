"""Watches the workers of pytest-xdist: those that end before they are ready, those that hang, and all when the run is
stopped.

A framework may load in one process and fail to load in another. It may also switch off the watchdog of its process, so
the controlling process reads the journals of its workers (files that name the running program), and ends a worker that
hangs.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from subprocess import Popen
from typing import Any

import pytest

from autograd_conformance.checking.session import Session
from autograd_conformance.plugin.pytest_internals import worker_process
from autograd_conformance.processes.journal import Observer
from autograd_conformance.reporting.analysis.verdicts import ADAPTER_ERROR

MOST = 3
"""Number of workers that end before they are ready at which the run ends. A single one may have been killed from
outside.
"""

LOOK = 1.0
"""Seconds between two checks of whether a worker hangs."""


class Workers:
    """Ends the run if several workers could not load the framework, since a replacement could not either. Ends workers
    that hang, and all workers when the run is stopped.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.ready: set[str] = set()
        self.unready = 0
        self.processes: dict[str, Popen[bytes]] = {}
        """Processes of the running workers, by the worker's name, such as "gw0"."""
        self.over = threading.Event()
        self.looking = threading.Thread(target=self._look, daemon=True)

    @pytest.hookimpl(optionalhook=True, tryfirst=True)  # before the audit, which takes long
    def pytest_configure_node(self, node: Any) -> None:
        """Remembers the process of a worker that starts, and begins to watch the workers."""
        process = worker_process(node)
        if process is not None:
            self.processes[node.gateway.id] = process
        if not self.looking.is_alive() and not self.over.is_set():
            self.looking.start()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodeready(self, node: Any) -> None:
        """Remembers that a worker has loaded the framework."""
        self.ready.add(node.gateway.id)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object | None) -> None:
        """Forgets a worker that has ended; ends the run if too many could not load the framework."""
        self.processes.pop(node.gateway.id, None)
        if node.gateway.id in self.ready:
            return
        self.unready += 1
        if self.unready == MOST:
            how = f": {error}" if error else ", and the reason is above, if they printed one"
            pytest.exit(
                f"adapter error: it was loaded once, but {MOST} workers could not load it{how}",
                returncode=ADAPTER_ERROR,
            )

    def pytest_keyboard_interrupt(self) -> None:
        """Ends all workers when the run is stopped, without waiting for their tests."""
        self.over.set()
        for process in self.processes.values():
            with suppress(OSError):
                process.kill()

    def pytest_unconfigure(self) -> None:
        """Stops watching the workers."""
        self.over.set()

    def _look(self) -> None:
        """Ends each worker whose program takes too long, until the run ends. The worker's journal names the program."""
        observers: dict[str, Observer] = {}
        while not self.over.wait(LOOK):
            for worker, process in list(self.processes.items()):
                if worker not in observers:
                    observers[worker] = Observer(self.session.settings.folder, worker, self.session.settings.watchdog)
                if observers[worker].mark_if_hung():
                    with suppress(OSError):
                        process.kill()
