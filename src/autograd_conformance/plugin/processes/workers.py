"""The workers of pytest-xdist: those that end before they have begun, that hang, and that are to stop.

The framework may be loaded in one process, but not in another like it. It may also switch off the watchdog of the
process that it runs in, so the controlling process looks at the journals of its workers, and ends one that hangs.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

import pytest

from autograd_conformance.checking.session import ADAPTER_ERROR, Session
from autograd_conformance.processes.journal import Observer

MOST = 3
"""How many workers may end so: one may have been killed from outside."""

LOOK = 1.0
"""Seconds between two looks at the workers' journals."""


class Workers:
    """Ends the run where workers of pytest-xdist never were ready: another one in their place would not be, either.
    Ends workers that hang, and all of them where the run is to stop.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.ready: set[str] = set()
        self.unready = 0
        self.processes: dict[str, Any] = {}
        """The processes of the workers that are alive, by their names."""
        self.over = threading.Event()
        self.looking = threading.Thread(target=self._look, daemon=True)

    @pytest.hookimpl(optionalhook=True, tryfirst=True)  # before the audit, which takes long
    def pytest_configure_node(self, node: Any) -> None:
        """A worker begins."""
        process = getattr(getattr(node.gateway, "_io", None), "popen", None)
        if process is not None:
            self.processes[node.gateway.id] = process
        if not self.looking.is_alive() and not self.over.is_set():
            self.looking.start()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodeready(self, node: Any) -> None:
        """A worker has loaded the framework."""
        self.ready.add(node.gateway.id)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object | None) -> None:
        """A worker has ended."""
        self.processes.pop(node.gateway.id, None)
        if node.gateway.id in self.ready:
            return
        self.unready += 1
        if self.unready == MOST:
            how = f": {error}" if error else ", and said why above, if it said anything"
            pytest.exit(
                f"adapter error: it was loaded once, but {MOST} workers could not load it{how}",
                returncode=ADAPTER_ERROR,
            )

    def pytest_keyboard_interrupt(self) -> None:
        """The run is to stop: a worker may be busy for long, and what it does now is not waited for."""
        self.over.set()
        for process in self.processes.values():
            with suppress(OSError):
                process.kill()

    def pytest_unconfigure(self) -> None:
        """The run ends."""
        self.over.set()

    def _look(self) -> None:
        """End each worker whose program takes too long; its journal says which program that is."""
        observers: dict[str, Observer] = {}
        while not self.over.wait(LOOK):
            for worker, process in list(self.processes.items()):
                if worker not in observers:
                    observers[worker] = Observer(self.session.folder, worker, self.session.watchdog)
                if observers[worker].mark_if_hung():
                    with suppress(OSError):
                        process.kill()
