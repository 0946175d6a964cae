"""Whole runs of misbehaving frameworks and adapters: the verdict, the exit code and the message for each."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from autograd_conformance.reporting.records.stream import load as load_report
from tests.plugin.test_cli import ONE, ROOT, SINE, command, run, verdicts, written
from tests.plugin.test_misbehaviour import ANSWERED, DECLARED, MISBEHAVING, RAISED

pytestmark = pytest.mark.slow


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


def test_what_was_found_is_told_where_hypothesis_fails_to_shrink_it(tmp_path):
    framework = "tests.frameworks.adapters.unshrinkable:Unshrinkable"
    seen = run(tmp_path, "suites/test_accumulation.py", "-n", "0", "-k", "test_zero_to_none", framework=framework)
    assert seen.code == 1, seen.output
    assert {*verdicts(seen.report).values()} == {"fail"}
    assert [failure.rule for failure in seen.report.failures] == ["accumulation/zero-to-none"]


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


@pytest.mark.parametrize(("name", "signal"), [("IsKilledOutside", "SIGKILL"), ("IsQuitOutside", "SIGQUIT")])
def test_of_a_worker_that_was_killed_it_cannot_be_told_by_whom(name, signal, tmp_path):
    seen = run(tmp_path, ONE, framework=f"{MISBEHAVING}:{name}")
    assert verdicts(seen.report) == {ONE: "cannot be told"}
    assert seen.report.failures == ()
    (result,) = seen.report.results
    reason = str(result.reason)
    assert reason.startswith(f"the process died of {signal}")
    assert "alone, it did not end its process in 5 runs: something else may have killed it" in reason
    assert "NO VERDICT" in seen.output
    assert seen.code != 1


def test_what_no_one_else_does_to_a_worker_is_a_crash(tmp_path):
    seen = run(tmp_path, ONE, framework=f"{MISBEHAVING}:SegfaultsInWorkers")
    assert (seen.code, verdicts(seen.report)) == (1, {ONE: "crash"})
    stacks = (tmp_path / "crashes.txt").read_text()
    assert stacks.startswith(f"{ONE}\na = leaf") and "Fatal Python error: Segmentation fault" in stacks
    assert "misbehaving.py" in stacks and "Fatal Python error" not in seen.output


@pytest.mark.parametrize("name", ["Leaves", "Segfaults", "Hangs"])
def test_without_a_worker_the_run_ends_there_and_says_so(name, tmp_path):
    seen = run(tmp_path, ONE, "-n", "0", *ending(name), framework=f"{MISBEHAVING}:{name}")
    assert seen.code == 1
    assert "no worker (-n 0): a crash or a hang of the framework ends the run" in seen.output
    assert f"Observed: {ENDED[name]}" in " ".join(seen.output.split())
    assert verdicts(seen.report) == {ONE: "timeout" if name == "Hangs" else "crash"}
    assert seen.report.footer is not None
    assert (seen.report.footer.verdict, seen.report.footer.exit_code) == ("interrupted", 1)
    assert "INTERRUPTED" in (tmp_path / "report.md").read_text()
    assert not list(tmp_path.glob("journal-*"))
    assert (tmp_path / "crashes.txt").exists() is (name != "Leaves")
    assert "most recent call first" not in seen.output


@pytest.mark.parametrize("workers", ["0", "1"])
def test_running_a_failure_again_for_long_is_no_hang(workers, tmp_path):
    again = ["-n", workers, "--patience=2", "--confirm=1"]
    seen = run(tmp_path, SINE, *again, framework="tests.frameworks.adapters.wrong:LongToLoad")
    assert seen.code == 1
    assert verdicts(seen.report) == {SINE: "fail"}
    assert seen.failure.alone is not None
    assert (seen.failure.alone.runs, seen.failure.alone.failed) == (5, 5)


@pytest.mark.parametrize("name", ["LeavesAtOnce", "LeavesInSmoke"])
def test_a_process_that_ends_while_it_loads_the_framework_is_an_adapter_error(name, tmp_path):
    seen = run(tmp_path, ONE, framework=f"{MISBEHAVING}:{name}")
    assert seen.code == 10
    assert "adapter error: the process ended itself with exit code 0 while the framework was loaded" in seen.output


@pytest.mark.parametrize("name", ["LeavesInWorkers", "UnlikeInWorkers"])
def test_what_loads_once_and_not_again_is_an_adapter_error(name, tmp_path):
    seen = run(tmp_path, ONE, framework=f"{MISBEHAVING}:{name}")
    assert seen.code == 10
    assert "adapter error: it was loaded once, but 3 workers could not load it" in seen.output


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
