"""Whole runs with a server: crashes and hangs are verdicts, crashes shrink and replay, and the run continues."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.language import Apply
from tests.plugin.test_cli import DYING, ONE, SINE, TINY, WRONG, run, verdicts

pytestmark = pytest.mark.slow
FAR = f"remote: {sys.executable} {Path(__file__).with_name('server.py')}"
EXP, NEGATIVE, PRODUCT = (f"suites/test_gradients.py::test_op[{op}]" for op in ("exp", "negative", "mm"))


def test_a_command_is_tested_like_any_framework(tmp_path: Path):
    seen = run(tmp_path, SINE, "-n", "1", framework=FAR)
    assert (seen.code, verdicts(seen.report)) == (0, {SINE: "pass"})
    assert seen.report.header.framework.title == "far 0.1"


def test_deaths_and_hangs_are_verdicts_and_the_run_goes_on(tmp_path: Path):
    seen = run(
        tmp_path, EXP, NEGATIVE, PRODUCT, SINE, "-n", "1", "--fresh-process=1000", "--patience=2", framework=DYING
    )
    assert seen.code == 1
    assert verdicts(seen.report) == {EXP: "crash", NEGATIVE: "crash", PRODUCT: "timeout", SINE: "pass"}
    told = {failure.op: failure for failure in seen.report.failures}
    assert told["exp"].observed == "the process died of SIGSEGV"
    assert told["negative"].observed == "the process ended itself with exit code 0"
    assert told["mm"].observed == "did not come back in time (2 s)"
    program = codec.from_json(told["exp"].program)
    assert [step.op for step in program if isinstance(step, Apply)] == ["exp"]
    assert seen.report.footer is not None
    assert seen.report.footer.verdict == "complete"
    words = shlex.split(told["exp"].command)
    assert f"--framework={DYING}" in words
    assert "--fresh-process=1000" in words
    again = run(tmp_path / "again", f"--replay={told['exp'].replay}", "--fresh-process=1000", framework=DYING)
    assert again.code == 1
    assert "still failing (the process died of SIGSEGV)" in again.output


def test_without_workers_a_death_over_the_wire_is_a_verdict_too(tmp_path: Path):
    seen = run(tmp_path, EXP, SINE, "-n", "0", "--fresh-process=1000", "--patience=2", framework=DYING)
    assert seen.code == 1
    assert verdicts(seen.report).items() >= {EXP: "crash", SINE: "pass"}.items()


def test_a_wrong_gradient_is_told_as_it_is_here(tmp_path: Path):
    name = f"{WRONG}:WrongSine"
    here = run(tmp_path / "here", SINE, "-n", "1", "--hypothesis-seed=1", framework=name).failure
    there = run(
        tmp_path / "there",
        SINE,
        "-n",
        "1",
        "--hypothesis-seed=1",
        f"--framework-python={sys.executable}",
        framework=name,
    ).failure
    for field in ("rule", "op", "program", "observed", "allowed", "code", "why", "votes", "script", "variation"):
        assert getattr(there, field) == getattr(here, field)


@pytest.mark.parametrize(
    ("framework", "said", "code"),
    [
        (f"{FAR} garbage", "adapter error: far: it wrote 'computing sin...', which is no JSON", 10),
        (f"{FAR} 'another version'", "it speaks version 2 of the protocol, but this suite speaks 1", 10),
        ("remote: no-such-program", "'no-such-program' cannot be started", 4),
        ("remote:", "'remote:' names no command", 4),
    ],
)
def test_a_server_that_cannot_be_used_ends_the_run_with_a_sentence(
    framework: str, said: str, code: int, tmp_path: Path
):
    seen = run(tmp_path, SINE, framework=framework)
    assert seen.code == code
    assert said in seen.output
    assert "Traceback" not in seen.output


def test_an_audit_goes_on_behind_a_death(tmp_path: Path):
    seen = run(tmp_path, ONE, "-n", "1", "--fresh-process=1000", "--patience=2", framework=DYING)
    assert seen.code == 1
    assert {failure.op for failure in seen.report.failures} == {"exp", "negative", "mm"}
    assert verdicts(seen.report)[ONE] == "pass"


def test_the_tiny_framework_served_by_another_interpreter_conforms(tmp_path: Path):
    seen = run(tmp_path, "suites/test_lifetime.py", "-n", "1", f"--framework-python={sys.executable}", framework=TINY)
    assert seen.code == 0
