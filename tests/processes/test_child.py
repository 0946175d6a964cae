"""Child processes: what they wrote, how they ended, and the tasks that they carry out."""

from __future__ import annotations

import gc
import os
import signal
import sys
import warnings
from pathlib import Path

import pytest

from autograd_conformance.processes.child import PYTHON, Child, Output, environment, finished
from autograd_conformance.processes.task import Task
from tests.processes.test_die_with_parent import is_alive, within

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it takes POSIX")


def test_the_end_of_an_output_begins_with_a_whole_line() -> None:
    output = Output()
    output.file.write(b"first\r\nsecond\nthird \xff\n")
    output.file.flush()
    assert output.text() == "first\nsecond\nthird \ufffd\n"
    assert output.text(last=12) == "third \ufffd\n"
    output.truncate(most=100)
    assert output.text()
    output.truncate(most=5)
    assert output.text() == ""


def test_no_open_file_is_warned_of() -> None:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        assert finished([*PYTHON, "-c", "print('said')"], 30) == (0, "said\n", "")
        closed = Output()
        os.close(closed.file.fileno())
        del closed
        gc.collect()
    assert not found


def test_a_process_that_is_left_running_does_not_hold_up_the_one_that_waits() -> None:
    script = "import subprocess, sys; sys.stderr.write('words'); subprocess.Popen(['sleep', '60'], stdout=sys.stdout)"
    done = finished([*PYTHON, "-c", f"{script}; sys.exit(3)"], 30)
    assert done == (3, "", "words")


def test_the_processes_of_a_server_end_with_it() -> None:
    script = "import subprocess; print(subprocess.Popen(['sleep', '60']).pid, flush=True); input()"
    server = Child([*PYTHON, "-c", script], environment(), is_server=True)
    number = int(os.read(server.pipes[1].fileno(), 100))
    assert server.wait(0.01) is None and is_alive(number)
    server.stop()
    assert server.status == -signal.SIGKILL
    assert within(10, lambda: not is_alive(number))


@pytest.mark.parametrize(
    ("end", "code", "failure"),
    [("ends", 0, None), ("fails", 0, "it fails: no such op"), ("dies", -signal.SIGKILL, None)],
)
def test_the_notes_of_a_task_outlive_its_process(end: str, code: int, failure: str | None, tmp_path: Path) -> None:
    task = Task("tests.processes.tasks", tmp_path, end, notes=["kept"])
    assert finished(task.command, 60).code == code
    assert (task.notes(), task.failure()) == (["kept", [1, "exp"], None], failure)
