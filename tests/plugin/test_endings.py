"""Runs that end early, by a signal or because of their options: the report says what is missing."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from autograd_conformance.plugin.options import REMEMBERING
from autograd_conformance.reporting.records.stream import load
from tests.plugin.kills import STOPS, WHO, Who, killed
from tests.plugin.test_cli import ONE, ROOT, SINE, WRONG, command, run, wait_for

pytestmark = pytest.mark.slow


LIFETIME, ACCUMULATION = "suites/test_lifetime.py", "suites/test_accumulation.py"
OVERWRITTEN = "tests.frameworks.adapters.few:FewOverwrittenVectors"


def _terminable() -> None:
    """Makes a process react to a signal. A shell may let background processes ignore it, and child processes inherit
    this.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # `nohup` makes it deaf to that


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_whole_group_ends_the_run_as_the_keyboard_does(workers, number, tmp_path: Path):
    words, environment = command(tmp_path, LIFETIME, "-n", workers, framework=f"{WRONG}:Slow")
    with subprocess.Popen(
        words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True, preexec_fn=_terminable,
    ) as process:  # fmt: skip
        wait_for(tmp_path / "records.jsonl", '"record":"result"')
        os.killpg(process.pid, number)
        process.send_signal(number)  # `timeout` sends it to its child, and then to the group
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 2, output
    report = load(tmp_path / "records.jsonl")
    assert report.footer is not None
    assert (report.footer.verdict, report.footer.exit_code) == ("interrupted", 2)
    assert report.footer.reason == f"ended by {number.name}"
    assert report.footer.not_run >= 1
    assert {result.verdict for result in report.results} <= {"pass", "not applicable"}, "no worker seems to have died"
    assert f"INTERRUPTED: ended by {number.name}. {report.footer.not_run} tests did not run." in output
    assert "NO VERDICT" in output
    assert "INTERRUPTED" in (tmp_path / "report.md").read_text()
    assert not list(tmp_path.glob("journal-*"))


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_limit_of_failures_is_no_whole_run(workers, tmp_path: Path):
    seen = run(tmp_path, ACCUMULATION, "-x", "-n", workers, framework=OVERWRITTEN)
    footer = seen.report.footer
    assert footer is not None
    assert (seen.code, footer.exit_code, footer.verdict) == (1, 1, "interrupted")
    assert footer.reason == "stopped after 1 failure (--maxfail)"
    assert footer.not_run == 14 - len(seen.report.results) > 0
    assert f"INTERRUPTED: stopped after 1 failure (--maxfail). {footer.not_run} tests did not run." in seen.output
    assert "NOT CONFORMANT" in seen.output


@pytest.mark.parametrize(("seed", "code"), [("0", 1), ("1", 0)])
def test_the_seed_of_a_run_is_that_of_its_workers_hashes(seed, code, tmp_path: Path, monkeypatch):
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    options = ["-n", "1", "--confirm=1", f"--hypothesis-seed={seed}"]
    seen = run(tmp_path, SINE, *options, framework="tests.frameworks.adapters.moody:BySeed")
    assert seen.code == code, seen.output
    alone = seen.failure.alone if code else None
    assert alone is None or alone.hashes == "0"
    assert "PYTHONHASHSEED" not in seen.report.header.variables, "it goes with the seed"


def test_a_seed_of_hashes_that_the_user_gave_stays(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    framework = "tests.frameworks.adapters.moody:BySeed"
    seen = run(tmp_path, SINE, "-n", "1", "--hypothesis-seed=1", framework=framework)
    assert seen.code == 1, seen.output
    assert seen.report.header.variables == {"PYTHONHASHSEED": "0"}


def test_a_limit_that_is_never_reached_ends_nothing(tmp_path: Path):
    seen = run(tmp_path, "suites/test_accumulation.py::test_adds", "-x", framework=OVERWRITTEN)
    footer = seen.report.footer
    assert footer is not None
    assert (seen.code, footer.verdict, footer.reason, footer.not_run) == (1, "complete", None, 0)


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_part_of_the_suite_is_no_verdict_on_the_framework(workers, tmp_path: Path):
    seen = run(tmp_path, LIFETIME, "-k", "default_frees", "-n", workers)
    footer = seen.report.footer
    assert footer is not None
    assert (seen.code, footer.verdict, footer.deselected) == (0, "complete", 9)
    assert "SELECTION PASSED. tiny 1.0 breaks no MUST rule in the selected tests and passes" in seen.output
    assert "9 tests, left out by the options of the run" in seen.output
    page = (tmp_path / "report.md").read_text()
    assert "| Left out by the options of the run | 9 tests |" in page
    assert "skipped (its tests were left out)" in page


@pytest.mark.parametrize("option", ["--lf", "--cache-show"])
def test_what_needs_a_memory_of_earlier_runs_is_refused(option, tmp_path: Path):
    seen = run(tmp_path, option, ONE)
    assert seen.code == 4
    assert f"{option} cannot work, because runs keep no cache" in seen.output
    assert not (tmp_path / "records.jsonl").exists()


def test_those_options_are_known_by_the_names_of_their_values(pytestconfig: pytest.Config):
    assert [name for name in REMEMBERING if not hasattr(pytestconfig.option, name)] == []


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--hypothesis-profile=fast", "there is no profile 'fast' for --hypothesis-profile; there are quick, standard"),
        ("--patience=0", "argument --patience: '0' is not a number of seconds above 0"),
        ("--seconds=soon", "argument --seconds: 'soon' is not a number of seconds above 0"),
        ("--programs=0", "argument --programs: '0' is not a whole number above 0"),
    ],
)
def test_a_value_that_makes_no_sense_is_one_sentence(option, said, tmp_path: Path):
    seen = run(tmp_path, ONE, option)
    assert seen.code == 4
    assert said in seen.output
    assert "INTERNALERROR" not in seen.output
    assert "Traceback" not in seen.output


@pytest.mark.parametrize("stop", STOPS, ids=lambda stop: stop.name)
@pytest.mark.parametrize("who", WHO)
def test_a_kill_loses_no_record_and_the_next_run_starts_clean(who: Who, stop: signal.Signals, tmp_path: Path):
    """A short version of `python -m tests.plugin.kills`, which kills fifty runs."""
    assert killed(who, stop, 9.0, tmp_path).problem is None
