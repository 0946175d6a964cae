"""Confirmations: a failure reproduces, sometimes reproduces, reproduces after other programs, or does not."""

from __future__ import annotations

import json
import math
import time
from dataclasses import replace
from pathlib import Path

import pytest

from autograd_conformance.checking.check import RuleViolated
from autograd_conformance.checking.limits import Limits
from autograd_conformance.checking.session import Session, Settings
from autograd_conformance.failures import record
from autograd_conformance.failures.confirmation import isolation, time_limit
from autograd_conformance.frameworks.loading.registry import load
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.plugin.replay import replay
from autograd_conformance.processes import supervision
from autograd_conformance.processes.journal import Entry
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Program
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reporting.records.failure import Confirmation, Failure
from autograd_conformance.reporting.render.text import confirmation_text
from autograd_conformance.rules.judge.judge import judge
from evaluation.mutants.printed import Bent
from tests.frameworks.adapters.moody import AfterExp
from tests.frameworks.adapters.wrong import WrongSine

MOODY = "tests.frameworks.adapters.moody"
SINE = "a = leaf [1, 2]; b = sin a; backward b with [1, 1]"
SINE_OF_THREE = "a = leaf [1, 2, 3]; b = sin a"
OTHERS = ("a = leaf 1; b = negative a", "a = leaf 1; b = exp a", "a = leaf 1; b = add a a", "a = leaf 2; b = exp a")


def program(text: str) -> Program:
    return parse(text, VOCABULARY)


def session(name: str, folder: Path, confirms: int = 1) -> Session:
    return Session.of(Settings(name, folder, timeout=20.0, confirms=confirms))


def found(of: Session) -> Failure:
    """The failure of a framework with a wrong derivative of sin."""
    case, wrong = program(SINE), InProcess(WrongSine())
    seen = wrong.observe(case)
    violation = judge(case, seen, Reference(case), wrong.capabilities).violation
    assert violation is not None
    return record.failure(RuleViolated(case, seen, violation, wrong), "suites/test_gradients.py::test_op[sin]", of)


def test_it_reproduces_alone_and_the_script_is_run(tmp_path: Path):
    asked = session("evaluation.mutants.printed:Bent", tmp_path)
    case, bent = program("a = leaf [1, 2]; b = exp a; backward b with [1, 1]"), InProcess(Bent())
    seen = bent.observe(case)
    violation = judge(case, seen, Reference(case), bent.capabilities).violation
    assert violation is not None
    failure = record.failure(RuleViolated(case, seen, violation, bent), "suites/test_gradients.py::test_op[exp]", asked)
    told = isolation.confirm(failure, asked).alone
    assert told is not None
    assert (told.runs, told.failed, told.trouble, told.code) == (isolation.RUNS, isolation.RUNS, None, True)
    assert told.printed.startswith("b is  ")
    assert confirmation_text(told) == "it fails again in a fresh process"


def test_of_what_the_code_cannot_show_nothing_is_said(tmp_path: Path):
    name = "tests.frameworks.adapters.misbehaving:WritesCotangent"
    asked, target = session(name, tmp_path), InProcess(load(name))
    case = program("a = leaf [1, 2]; b = negative a; backward b with [1, 1]")
    seen = target.observe(case)
    violation = judge(case, seen, Reference(case), target.capabilities).violation
    assert violation is not None
    told = isolation.confirm(record.failure(RuleViolated(case, seen, violation, target), "a test", asked), asked).alone
    assert told is not None
    assert (told.failed, told.code) == (isolation.RUNS, None)


def test_what_the_code_does_not_show_may_be_the_adapters(tmp_path: Path):
    asked = session("tests.frameworks.adapters.wrong:WrongSine", tmp_path)
    told = isolation.confirm(found(asked), asked).alone
    assert told is not None
    assert (told.runs, told.failed, told.trouble, told.code) == (isolation.RUNS, isolation.RUNS, None, False)
    assert confirmation_text(told).endswith(
        "; its printed code, run without the adapter, does not fail in this way: check the adapter first"
    )
    stopped = confirmation_text(replace(told, trouble="AttributeError: no dtype float32"))
    assert "its printed code cannot run (AttributeError: no dtype float32)" in stopped and "check" not in stopped


@pytest.mark.slow
def test_what_fails_at_times_is_no_riddle(tmp_path: Path):
    asked = session(f"{MOODY}:EveryOther", tmp_path)
    told = isolation.confirm(found(asked), asked).alone
    assert told is not None
    assert 0 < told.failed < told.runs
    assert f"it fails in {told.failed} of 5 runs: the framework is not deterministic" in confirmation_text(told)


@pytest.mark.slow
def test_what_fails_after_other_programs_names_the_shortest_sequence(tmp_path: Path):
    asked = session(f"{MOODY}:AfterExp", tmp_path)
    failure = isolation.confirm(found(asked), asked, [program(text) for text in OTHERS])
    assert failure.alone is not None
    assert (failure.alone.failed, failure.alone.after) == (0, 1)
    assert confirmation_text(failure.alone).startswith(
        "it fails only after other programs: the replay file has the shortest sequence that was found, 1 "
    )
    path = Path(failure.replay or "")
    AfterExp.spoilt = False
    assert replay(path, InProcess(AfterExp())).verdict == "still failing"
    form = json.loads(path.read_text())
    assert [step.get("op") for step in form.pop("before")[0]["instructions"]] == [None, "exp"]
    path.write_text(json.dumps(form))
    AfterExp.spoilt = False
    assert replay(path, InProcess(AfterExp())).verdict == "fixed"


@pytest.mark.slow
def test_what_hangs_on_the_seed_of_hashes_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    asked = session(f"{MOODY}:BySeed", tmp_path)
    failure = isolation.confirm(found(asked), asked, [program(OTHERS[0])])
    assert failure.alone is not None
    assert (failure.alone.failed, failure.alone.after, failure.alone.hashes) == (5, None, "0")
    assert "only with PYTHONHASHSEED=0: it depends on the order of a set" in confirmation_text(failure.alone)
    assert (failure.command or "").startswith("PYTHONHASHSEED=0 ")
    monkeypatch.setenv("PYTHONHASHSEED", "1")
    again = session(f"{MOODY}:BySeed", tmp_path)
    told = isolation.confirm(found(again), again, [program(OTHERS[0])]).alone
    assert told is not None
    assert (told.failed, told.hashes) == (0, None)


@pytest.mark.slow
def test_what_never_fails_again_is_said_to(tmp_path: Path):
    asked = session("examples.tiny_adapter:Tiny", tmp_path)
    told = isolation.confirm(found(asked), asked, [program(OTHERS[0])]).alone
    assert told is not None
    assert (told.failed, told.after) == (0, None)
    assert confirmation_text(told) == (
        "it did not fail in 5 runs in fresh processes, nor after the run's earlier programs"
    )


@pytest.mark.slow
def test_a_process_that_ends_again_reproduces(tmp_path: Path):
    asked = session(f"{MOODY}:DiesOfSine", tmp_path)
    entry = Entry("suites/test_gradients.py::test_op[sin]", "gradients/op", "sin", program(SINE_OF_THREE), False)
    told = isolation.confirm(record.crash_failure(entry, asked, supervision.describe_exit(0)), asked).alone
    assert told is not None
    assert (told.runs, told.failed, told.code) == (1, 1, False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("framework", "status", "undecided"),
    [
        ("examples.tiny_adapter:Tiny", -9, True),
        ("examples.tiny_adapter:Tiny", -15, True),
        ("examples.tiny_adapter:Tiny", -11, False),
        ("examples.tiny_adapter:Tiny", 1, False),
        (f"{MOODY}:DiesOfSine", -9, False),
    ],
)
def test_a_process_that_was_killed_and_is_not_again(framework: str, status: int, undecided: bool, tmp_path: Path):
    asked = session(framework, tmp_path, confirms=0)  # the failure is run again even so
    entry = Entry("suites/test_gradients.py::test_op[sin]", "gradients/op", "sin", program(SINE_OF_THREE), False)
    failure, found = time_limit.confirm_process_end(
        record.crash_failure(entry, asked, supervision.describe_exit(status)), status, asked
    )
    assert found is undecided
    assert (failure.alone is None) is (status not in supervision.KILLS)


@pytest.mark.parametrize(("verdict", "failed", "kept"), [("fail", 5, True), ("fail", 0, False), ("crash", 1, False)])
def test_of_a_confirmation_without_time_what_is_certain_is_kept(
    verdict: str, failed: int, kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The runs of the program had ended; what the script had printed by then may be a part."""
    asked = session("examples.tiny_adapter:Tiny", tmp_path)
    asked.process.limits = Limits.of(None, 100.0, time.monotonic())

    def confirm(failure: Failure, *given: object) -> Failure:
        monkeypatch.setattr(time_limit.time, "monotonic", lambda: math.inf)
        return replace(failure, alone=Confirmation(runs=5, failed=failed, printed="a part", code=True))

    monkeypatch.setattr(isolation, "confirm", confirm)
    entry = Entry("suites/test_gradients.py::test_op[sin]", "gradients/op", "sin", program(SINE_OF_THREE), False)
    failure = record.crash_failure(entry, asked, supervision.describe_exit(0))
    alone = time_limit.confirm(replace(failure, verdict=verdict), asked).alone
    assert alone == (Confirmation(runs=5, failed=failed, code=True) if kept else time_limit.NOT_RUN)


@pytest.mark.parametrize("gone", ["tests.frameworks.adapters.nowhere:Nothing", f"{MOODY}:EndsWhileLoaded"])
def test_of_a_process_that_could_not_be_held_nothing_is_said(gone: str, tmp_path: Path):
    asked = session("examples.tiny_adapter:Tiny", tmp_path)
    entry = Entry("suites/test_gradients.py::test_op[sin]", "gradients/op", "sin", program(SINE_OF_THREE), False)
    failure = record.crash_failure(entry, asked, supervision.describe_exit(0))
    elsewhere = replace(asked, settings=replace(asked.settings, name=gone))
    assert isolation.confirm(failure, elsewhere) == failure


@pytest.mark.parametrize(
    ("script", "trouble"),
    [
        ("1 / 0", "it ended with exit code 1: ZeroDivisionError: division by zero"),
        ("import os; os.abort()", "it died of signal 6"),
    ],
)
@pytest.mark.slow
def test_a_script_that_does_not_run_to_its_end_is_reported(script: str, trouble: str, tmp_path: Path):
    asked = session("tests.frameworks.adapters.wrong:WrongSine", tmp_path)
    told = isolation.confirm(replace(found(asked), script=script), asked).alone
    assert told is not None
    assert told.trouble == trouble


def test_as_many_as_the_options_say(tmp_path: Path):
    asked = session("tests.frameworks.adapters.wrong:WrongSine", tmp_path, confirms=0)
    assert isolation.confirm(found(asked), asked).alone is None
