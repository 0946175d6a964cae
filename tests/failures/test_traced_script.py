"""The script of a program that ended its process: the last line that it prints is the cause."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

from autograd_conformance.checking.audit.notes import LOST
from autograd_conformance.checking.audit.outcome import Fault
from autograd_conformance.checking.session import Session, Settings
from autograd_conformance.failures.audited import audit_failure
from autograd_conformance.failures.listing import traced
from autograd_conformance.failures.record import crash_failure
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.processes.journal import Entry
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.formats.text import parse
from examples.tiny_adapter import Tiny

ROOT = Path(__file__).parents[2]
DIED = "the process died of SIGABRT"
EXPECTED = f"each line has to return, or to raise an error; observed: {DIED}"


def printed(script: str) -> tuple[int, list[str]]:
    """Runs a script, in which the framework's `exp` ends the process; returns the exit code and the lines printed."""
    dying = re.sub(r"^(\w) = tiny.exp\(a\)", r"\1 = __import__('os').abort()", script, flags=re.MULTILINE)
    done = subprocess.run([sys.executable, "-c", dying], cwd=ROOT, capture_output=True, text=True)
    return done.returncode, done.stdout.splitlines()


def test_the_last_line_printed_is_the_one_that_ends_the_process() -> None:
    text = "a = leaf [1, 2]; b = sin a; backward b with [1, 1]; backward b with [1, 1]; c = exp a; d = sin c"
    code, lines = printed(traced(parse(text, VOCABULARY), InProcess(Tiny()), DIED))
    assert code == -signal.SIGABRT
    assert lines[0] == EXPECTED
    assert lines[-1] == "line 5: c = tiny.exp(a)"
    assert [line.partition(":")[0] for line in lines[1:]] == [
        "line 1",
        "line 2",
        "line 3",
        "line 4",
        "raised",
        "line 5",
    ]


def test_a_program_that_does_not_end_the_process_says_so() -> None:
    code, lines = printed(traced(parse("a = leaf [1, 2]; b = sin a", VOCABULARY), InProcess(Tiny()), DIED))
    assert (code, lines[-1]) == (0, "every line returned, or raised an error")


def test_failures_have_such_a_script(tmp_path: Path) -> None:
    session = Session.of(Settings("examples.tiny_adapter:Tiny", tmp_path))
    program = parse("a = leaf [1, 2]; b = exp a", VOCABULARY)
    entry = Entry("test", "gradients/forward", None, program, timed_out=False)
    of_test = crash_failure(entry, session, DIED)
    of_audit = audit_failure("exp", Fault(codec.to_json(program), "gradients/op", LOST), session)
    for failure in (of_test, of_audit):
        assert printed(failure.script)[1][-1] == "line 2: b = tiny.exp(a)"
        assert failure.observed in printed(failure.script)[1][0]
