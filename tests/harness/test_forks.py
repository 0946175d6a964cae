"""Processes that are forked in the place of others: they end as those would, and where none can be, one is started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

SCRIPT = """
import os, shlex, signal, subprocess, sys, threading, time
from autograd_conformance.harness import forks

sys.loaded = True
copy = forks.left({ready})
words = [*shlex.split(copy.command), "-u", "-c", "import sys;exec(eval(sys.stdin.readline()))"]
{do}
copy.end()
"""
"""A process that leaves a copy of itself, and does something with the words that are started in the place of Python."""

RUN = """
source = {source!r} + "\\n"
done = subprocess.run(words, input=repr(source) + "\\nmore", stdout=subprocess.PIPE, text=True)
print(done.returncode, done.stdout, end="")
"""

FORKED = "print(hasattr(sys, 'loaded'))"


def printed(do: str, ready: str = "lambda: True") -> str:
    words = [sys.executable, "-c", SCRIPT.format(ready=ready, do=do)]
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, timeout=60).stdout.strip()


def came_of(source: str, ready: str = "lambda: True") -> str:
    return printed(RUN.format(source=f"import os, signal, sys\n{source}"), ready)


def test_a_fork_has_what_was_loaded():
    assert came_of(FORKED) == "0 True"


def test_it_reads_and_writes_where_python_would():
    assert came_of("print(sys.stdin.read(), sys.argv)") == "0 more ['-c']"


@pytest.mark.parametrize(
    ("source", "status"),
    [
        ("os._exit(7)", 7),
        ("raise ValueError", 1),
        *((f"os.kill(os.getpid(), signal.{number.name})", -number) for number in (signal.SIGSEGV, signal.SIGKILL)),
        ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
    ],
)
def test_how_it_ended_is_how_its_launcher_ends(source, status):
    assert came_of(source) == str(int(status))


@pytest.mark.parametrize(
    "ready",
    [
        "lambda: False",
        "lambda: 1 / 0",
        "lambda: os.kill(os.getpid(), signal.SIGKILL)",
        "lambda: threading.Thread(target=time.sleep, args=(9,), daemon=True).start() is None",
    ],
)
def test_where_it_may_not_be_forked_a_process_is_started_anew(ready):
    assert came_of(FORKED, ready) == "0 False"


def test_a_process_with_several_threads_leaves_no_copy():
    do = "threading.Thread(target=time.sleep, args=(1,)).start(); print(forks.left(lambda: True))"
    assert printed(do) == "None"


def test_one_after_another_and_beside_each_other():
    do = """
source = repr("import sys, os; print(os.getpid()); sys.stdin.read(1)") + "\\n"
for _ in range(2):
    some = [subprocess.Popen(words, stdin=-1, stdout=-1, text=True) for _ in range(3)]
    for each in some:
        each.stdin.write(source)
        each.stdin.flush()
    numbers = {each.stdout.readline() for each in some}
    for each in some:
        each.stdin.close()
    print(len(numbers), *(each.wait() for each in some))
"""
    assert printed(do) == "3 0 0 0\n3 0 0 0"


def test_a_fork_ends_with_its_launcher():
    do = """
source = repr("import time, os; print(os.getpid(), flush=True); time.sleep(1000)") + "\\n"
one = subprocess.Popen(words, stdin=-1, stdout=-1, text=True)
one.stdin.write(source)
one.stdin.flush()
print(one.stdout.readline(), end="")
one.kill()
print(repr(one.stdout.read()))
"""
    number, rest = printed(do).splitlines()
    assert rest == "''", "nobody holds its pipe any more"
    deadline = time.monotonic() + 10
    while os.path.exists(f"/proc/{number}") and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not os.path.exists(f"/proc/{number}")
