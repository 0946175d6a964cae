"""Signal handlers that replace those of this process for a while."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import pytest

from autograd_conformance.package import loading
from autograd_conformance.processes.signals import Handlers

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it takes POSIX")


def test_handlers_are_installed_and_restored() -> None:
    before, received, handlers = signal.getsignal(signal.SIGUSR1), [], Handlers()
    handlers.install(signal.SIGUSR1, lambda number, frame: received.append(number))
    os.kill(os.getpid(), signal.SIGUSR1)
    handlers.restore()
    assert received == [signal.SIGUSR1]
    assert signal.getsignal(signal.SIGUSR1) == before


def test_signals_are_ignored_for_a_while_and_then_handled_as_before() -> None:
    received: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: received.append(number))
    try:
        handlers = Handlers()
        handlers.install(signal.SIGUSR1, lambda number, frame: None)
        handlers.restore_after(0.3)
        os.kill(os.getpid(), signal.SIGUSR1)
        assert received == []
        time.sleep(0.4)
        os.kill(os.getpid(), signal.SIGUSR1)
        time.sleep(0.01)  # it is sent again
        assert received == [signal.SIGUSR1]
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_outside_the_main_thread_nothing_is_installed() -> None:
    before, handlers = signal.getsignal(signal.SIGUSR1), Handlers()
    thread = threading.Thread(target=handlers.install, args=(signal.SIGUSR1, lambda number, frame: None))
    thread.start()
    thread.join()
    assert (handlers.previous, signal.getsignal(signal.SIGUSR1)) == ({}, before)


def test_the_handler_of_loading_does_not_come_back_after_a_run() -> None:
    before = signal.signal(signal.SIGTERM, loading.end_at_once)
    try:
        handlers = Handlers()
        handlers.install(signal.SIGTERM, lambda number, frame: None)
        handlers.restore()
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)
