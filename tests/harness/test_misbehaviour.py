"""What frameworks may do to their process, and what adapters may do wrong: for each, the verdict, the exit code, the
message. Each run is the smallest that meets the misdeed, so that the table takes minutes.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from autograd_conformance.frameworks import interrupts
from autograd_conformance.frameworks.registry import BrokenAdapter, load
from autograd_conformance.frameworks.runner import run as observed
from autograd_conformance.frameworks.smoke import smoke
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.text import parse
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reports.stream import load as load_report
from autograd_conformance.rules.explanation.words import observed_text
from autograd_conformance.rules.judge.judge import judge
from tests.harness.test_cli import ONE, ROOT, command, run, verdicts, written

MISBEHAVING = "tests.frameworks.adapters.misbehaving"

TWICE = "a = leaf [1, 2]; b = exp a; c = sum b dim=(0,) keepdim=False; backward c; backward c"
DETACHED = "a = leaf [1, 2]; b = detach a; c = exp a; backward c with [1, 2]"


def program(text: str) -> Program:
    return parse(text, VOCABULARY)


# -- what a framework raises -------------------------------------------------------------------------------------------


@pytest.fixture
def watching():
    interrupts.watch()


RAISED = {
    "Exits": "raised: unknown (SystemExit: 0)",
    "ExitsNumbered": "raised: unknown (SystemExit: 3)",
    "Stops": "raised: unknown (KeyboardInterrupt: )",
    "Closes": "raised: unknown (GeneratorExit: )",
    "Escapes": "raised: unknown (Escape: out of here)",
    "Skips": "raised: unknown (Skipped: not today)",
    "Fails": "raised: unknown (Failed: so be it)",
    "EndsPytest": "raised: unknown (Exit: enough)",
    "IsSpeechless": "raised: unknown (Speechless: its str() raises ValueError)",
    "OutOfMemory": "raised: unknown (ValueError: array is too big",
    "Recurses": "raised: unknown (RecursionError: maximum recursion depth exceeded",
    "Asserts": "raised: unknown (AssertionError: so much for that)",
    "StopsIterating": "raised: unknown (StopIteration: )",
}


@pytest.mark.parametrize("name", RAISED)
def test_whatever_a_framework_raises_is_an_outcome(name, watching):
    adapter = load(f"{MISBEHAVING}:{name}")
    smoke(adapter)
    seen = observed(program(TWICE), adapter)
    violation = judge(program(TWICE), seen, Reference(program(TWICE)), adapter.capabilities).violation
    assert violation is not None
    assert violation.rule == "lifetime/same-root-raises"
    assert observed_text(violation).startswith(RAISED[name])


OBSERVED = {
    "LooksLater": ("errors/legal-returns", "raised: unknown (RuntimeError: the gradient cannot be computed after all)"),
    "Huge": ("gradients/form", "a gradient of shape (1000000, 1000000)"),
    "HugeCopied": ("errors/legal-returns", "raised: unknown (MemoryError: Unable to allocate"),
    "WritesCotangent": ("gradients/cotangent-kept", "the call wrote into the cotangent that it was given"),
}


@pytest.mark.parametrize("name", OBSERVED)
def test_what_shows_when_a_framework_is_looked_at(name):
    adapter, case = load(f"{MISBEHAVING}:{name}"), program(DETACHED)
    smoke(adapter)
    violation = judge(case, observed(case, adapter), Reference(case), adapter.capabilities).violation
    assert violation is not None
    rule, said = OBSERVED[name]
    assert violation.rule == rule
    assert said.removeprefix("a gradient of ") in observed_text(violation)


def test_a_signal_that_stops_the_run_is_no_outcome(watching):
    adapter = load(f"{MISBEHAVING}:Interrupted")
    with pytest.raises(KeyboardInterrupt):
        observed(program(TWICE), adapter)
    with pytest.raises(KeyboardInterrupt):
        observed(program(TWICE), adapter)


# -- what an adapter does wrong ----------------------------------------------------------------------------------------

DECLARED = {
    "NoName": "name has to be a str of one line, of 1 to 80 characters, not None",
    "LongName": "name has to be a str of one line",
    "PathName": "name has to be no path that leads elsewhere, not '../../evil'",
    "NumberVersion": "version has to be a str of one line, of 1 to 80 characters, not 3",
    "LongVersion": "version has to be a str of one line, of 1 to 80 characters, not '111",
    "LinesVersion": "version has to be a str of one line",
    "NumberOps": "ops has to be a collection of the names of ops, each a str, not 3",
    "TextOps": "ops has to be a collection of the names of ops, each a str, not 'sin'",
    "NumbersOps": "ops has to be a collection of the names of ops, each a str, not (1, 2)",
    "NumberCapabilities": "capabilities has to be a collection of members of programs.capabilities.Capability, not 3",
    "TextCapabilities": "capabilities has to be a collection of members of programs.capabilities.Capability, not ('de",
    "TextDtypes": "dtypes has to be a collection of the names of dtypes, each a str, not 'float64'",
    "NoDtypes": "dtypes has to be a collection of the names of dtypes, each a str, not None",
    "TextDialect": "dialect has to be a printing.dialect.Dialect or None, not 'python'",
    "ReadsList": "read(leaf([1, 2])) gave [1.0, 2.0], not array([1., 2.]), which went in",
    "ReadsLive": "read() of a leaf gave the same memory twice; it has to give a copy",
}

ANSWERED = {
    "ReadsText": "read() gave '[1, 2]', not a NumPy array",
    "ReadsNone": "read() gave None, not a NumPy array",
    "ReadsLiveGradients": "read() of a gradient gave the same memory twice; it has to give a copy",
    "AppliesNone": "apply('exp') gave None, not a tuple or a list of all results",
    "AppliesTensor": "apply('exp') gave <examples.tiny.Tensor object at",
    "AppliesNoResult": "apply('exp') gave 0 results, not 1",
    "AppliesTwice": "apply('exp') gave 2 results, not 1",
    "AppliesNoTensor": "apply('exp') gave (None,), not a tensor in each place",
    "TellsNoDtype": "dtype() gave dtype('float64'), not a str",
    "TellsTextIdentity": "identity() gave 'a', not an int or None",
    "RequiresText": "requires_grad() gave 'yes', not a bool or None",
    "RequiresTextLater": "requires_grad() gave 'yes', not a bool or None",
    "DetachesNothing": "detach() gave None, not a tensor",
    "ClassifiesText": "classify() of GraphFreed gave 'freed', not a Kind",
    "ClassifyRaises": "classify() of GraphFreed raised LookupError: which error is that?",
    "Subscripts": "apply('sum') raised TypeError: tuple indices must be integers or slices, not str (misbehaving.py, ",
    "Misnames": "backward() raised NameError: name 'rots' is not defined (misbehaving.py, ",
    "MissesOp": "apply('cos') raised AttributeError: module 'examples.tiny' has no attribute 'cos' (tiny_adapter.py, ",
    "MissesArgument": "zero_grad() raised TypeError: MissesArgument.zero_grad() takes 2 positional arguments but 3",
    "ResetRaises": "reset() raised RuntimeError: nothing to reset",
}
WITH_MORE = {
    "MissesOp": "a = leaf [1, 2]; b = cos a",
    "MissesArgument": "a = leaf [1, 2]; b = exp a; zero a",
}


@pytest.mark.parametrize("name", DECLARED)
def test_the_smoke_test_names_the_mistake(name):
    with pytest.raises(BrokenAdapter, match=re.escape(DECLARED[name])):
        smoke(load(f"{MISBEHAVING}:{name}"))


@pytest.mark.parametrize("name", ANSWERED)
def test_a_program_names_the_mistake(name):
    adapter = load(f"{MISBEHAVING}:{name}")
    smoke(adapter)
    programs = [program(text) for text in (TWICE, DETACHED, *([WITH_MORE[name]] if name in WITH_MORE else []))]
    with pytest.raises(BrokenAdapter, match=re.escape(ANSWERED[name])):
        [observed(each, adapter) for each in programs]


def test_an_error_through_the_adapter_is_the_frameworks():
    adapter = load(f"{MISBEHAVING}:AsksWrongly")
    seen = observed(program("a = leaf [1, 2]; b = exp a"), adapter)
    assert seen[1].outcome.kind.value == "unknown"  # type: ignore[union-attr]
    where = re.escape("(the traceback ends in the adapter: misbehaving.py, line ")
    assert re.search(where, seen[1].outcome.message)  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["NumberVersion", "AppliesTwice"])
def test_an_adapter_error_ends_the_run_in_seconds(name, tmp_path):
    began = time.monotonic()
    seen = run(tmp_path, ONE, framework=f"{MISBEHAVING}:{name}")
    assert seen.code == 10
    assert f"adapter error: {'tiny: ' if name in ANSWERED else ''}" in seen.output
    assert (ANSWERED | DECLARED)[name] in " ".join(seen.output.split())
    assert "Traceback" not in seen.output
    assert time.monotonic() - began < 60


@pytest.mark.parametrize("workers", ["0", "1"])
def test_an_adapter_error_in_the_middle_of_a_run_ends_it(workers, tmp_path):
    seen = run(tmp_path, ONE, "suites/test_detach.py", "-n", workers, framework=f"{MISBEHAVING}:ClassifiesText")
    assert seen.code == 10
    assert f"adapter error: tiny: {ANSWERED['ClassifiesText']}" in seen.output
    assert "Traceback" not in seen.output
    assert seen.report.footer is not None
    assert (seen.report.footer.verdict, seen.report.footer.exit_code) == ("interrupted", 10)


# -- what a framework does to its process ------------------------------------------------------------------------------

ENDED = {
    "Leaves": "the process ended itself with exit code 0",
    "LeavesNumbered": "the process ended itself with exit code 7",
    "LeavesAsAnAdapterError": "the process ended itself with exit code 10",
    "Segfaults": "the process died of SIGSEGV",
    "ReadsNull": "the process died of SIGSEGV",
    "Aborts": "the process died of SIGABRT",
    "IsKilled": "the process died of SIGKILL, by the framework or from outside, as where memory runs out",
    "Hangs": "did not come back in time (5 s)",
}


def ending(name: str) -> list[str]:
    return ["--patience=5"] if name == "Hangs" else []


@pytest.mark.parametrize("name", ENDED)
def test_a_process_that_ends_is_a_verdict(name, tmp_path):
    seen = run(tmp_path, ONE, *ending(name), framework=f"{MISBEHAVING}:{name}")
    assert seen.code == 1
    assert verdicts(seen.report) == {ONE: "timeout" if name == "Hangs" else "crash"}
    assert seen.failure.observed == ENDED[name]
    assert f"Observed: {ENDED[name]}" in " ".join(seen.output.split())
    assert "b.backward(" in seen.output, "the terminal shows the program"
    assert not list(tmp_path.glob("journal-*"))


@pytest.mark.parametrize("name", ["Leaves", "Segfaults", "Hangs"])
def test_without_a_worker_the_run_ends_there_and_says_so(name, tmp_path):
    seen = run(tmp_path, ONE, "-n", "0", *ending(name), framework=f"{MISBEHAVING}:{name}")
    assert seen.code == 1
    assert "without a worker (-n 0): a crash or a hang of the framework ends the run" in seen.output
    assert f"Observed: {ENDED[name]}" in " ".join(seen.output.split())
    assert verdicts(seen.report) == {ONE: "timeout" if name == "Hangs" else "crash"}
    assert seen.report.footer is not None
    assert (seen.report.footer.verdict, seen.report.footer.exit_code) == ("interrupted", 1)
    assert "INTERRUPTED" in (tmp_path / "report.md").read_text()
    assert not list(tmp_path.glob("journal-*"))


@pytest.mark.parametrize("name", ["LeavesAtOnce", "LeavesInSmoke"])
def test_a_process_that_ends_while_it_loads_the_framework_is_an_adapter_error(name, tmp_path):
    seen = run(tmp_path, ONE, framework=f"{MISBEHAVING}:{name}")
    assert seen.code == 10
    assert "adapter error: the process ended itself with exit code 0 while the framework was loaded" in seen.output


@pytest.mark.parametrize("name", ENDED)
def test_a_replay_of_a_program_that_ends_its_process_is_still_failing(name, tmp_path):
    path = written(
        tmp_path / "twice.json", "a = leaf [1, 2]\nb = exp a\nbackward b with [1, 1]\nbackward b with [1, 1]"
    )
    seen = run(tmp_path, f"--replay={path}", *ending(name), framework=f"{MISBEHAVING}:{name}")
    assert seen.code == 1
    assert seen.output.splitlines()[-1] == f"{path}: still failing ({ENDED[name]})"


def test_a_replay_goes_on_behind_a_program_that_ends_its_process(tmp_path):
    twice = written(
        tmp_path / "twice.json", "a = leaf [1, 2]\nb = exp a\nbackward b with [1, 1]\nbackward b with [1, 1]"
    )
    once = written(tmp_path / "once.json", "a = leaf [1, 2]\nb = exp a\nbackward b with [1, 1]")
    seen = run(tmp_path, f"--replay={twice}", f"--replay={once}", framework=f"{MISBEHAVING}:Leaves")
    assert seen.code == 1
    assert seen.output.splitlines()[-1] == f"{once}: fixed"


@pytest.mark.parametrize("name", ["Exits", "Stops", "Skips"])
def test_what_ends_other_programs_is_a_failure_like_any_other(name, tmp_path):
    seen = run(tmp_path, ONE, framework=f"{MISBEHAVING}:{name}")
    assert seen.code == 1
    assert verdicts(seen.report) == {ONE: "fail"}
    assert seen.failure.observed == RAISED[name]
    assert seen.failure.script
    assert json.loads(Path(seen.failure.replay or "").read_text())


@pytest.mark.parametrize("workers", ["0", "1"])
@pytest.mark.parametrize(
    "name", ["LeavesAHelper", "LeavesAThread", "LeavesAChild", "ForksOnce", "ClosesFiles", "Prints"]
)
def test_what_a_framework_leaves_behind_is_no_matter(name, workers, tmp_path, monkeypatch):
    left = tmp_path / "left"
    monkeypatch.setenv("LEFT_BEHIND", str(left))
    words, environment = command(tmp_path, ONE, "-n", workers, framework=f"{MISBEHAVING}:{name}")
    try:
        with (tmp_path / "output").open("w") as output:  # what is left behind would hold a pipe open
            done = subprocess.run(words, cwd=ROOT, env=environment, timeout=100, stdout=output, stderr=output)
    finally:
        for process in left.read_text().split() if left.exists() else ():
            with suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)
    assert done.returncode == 0, (tmp_path / "output").read_text()
    assert verdicts(load_report(tmp_path / "records.jsonl")) == {ONE: "pass"}


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_what_stops_the_process_that_the_user_started_stops_the_run(stop, tmp_path):
    words, environment = command(tmp_path, ONE, "-n", "0", "--patience=1000", framework=f"{MISBEHAVING}:Hangs")
    with subprocess.Popen(
        words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:  # fmt: skip
        deadline = time.monotonic() + 60
        while not (tmp_path / "journal-main").exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(1)
        process.send_signal(stop)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 2, output
