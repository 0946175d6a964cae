"""Signals that arrive while a run is being loaded."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from autograd_conformance.package import loading

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it takes POSIX")


LOADING = """
import time
from autograd_conformance.package import loading
loading.handle_signals()
print("loading", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_run_that_is_still_being_loaded_with_one_line(number):
    def usual() -> None:
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(each, signal.default_int_handler if each == signal.SIGINT else signal.SIG_DFL)

    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", LOADING], stdout=pipe, stderr=pipe, text=True, preexec_fn=usual
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(number)
        _, text = process.communicate(timeout=60)
    assert (process.returncode, text) == (2, f"INTERRUPTED: ended by {number.name}; there is no report\n")


def test_a_signal_that_is_ignored_from_outside_stays_ignored_while_a_run_is_loaded() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        loading.handle_signals()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)


def test_tests_that_are_no_run_of_the_suite_keep_the_handlers_of_python() -> None:
    before = {number: signal.getsignal(number) for number in loading.STOPPING}
    try:
        for number in loading.STOPPING:
            signal.signal(number, loading.end_at_once)
        loading.stop_handling_signals()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
