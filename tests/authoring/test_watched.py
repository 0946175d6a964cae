"""`check` runs a framework in another process, whose end or hang is one remark, and the other steps run."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograd_conformance.authoring import command
from autograd_conformance.authoring.check import Blame, Remark, check
from autograd_conformance.authoring.watched import MOST, watched_check
from autograd_conformance.frameworks.target import InProcess
from examples.tiny_adapter import Tiny
from tests.frameworks.adapters import ending
from tests.known_differences.test_known import ENTRY

ENDING = "tests.frameworks.adapters.ending"


def watched(name: str, patience: float = 60.0) -> tuple[Remark, ...]:
    return watched_check(f"{ENDING}:{name}", "cpu", (), patience).remarks


def test_a_framework_that_ends_its_process_is_a_remark_and_the_other_steps_go_on():
    (remark,) = watched("LeavesAtExp")
    assert (remark.blame, remark.about) == (Blame.EITHER, "op exp")
    assert remark.text == (
        "during its program, the process ended itself with exit code 1; its last output was: Index 2 out of bounds"
    )
    assert "tiny.exp(a)" in remark.program


def test_a_framework_that_hangs_is_a_remark():
    (remark,) = watched("HangsAtExp", patience=5.0)
    assert (remark.blame, remark.about) == (Blame.EITHER, "op exp")
    assert remark.text.startswith("during its program, the process did not come back in ")


def test_a_framework_that_ends_each_process_ends_the_check(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("autograd_conformance.authoring.watched.MOST", 1)
    assert MOST > 1
    ended, last = watched("LeavesAtExp")
    assert ended.about == "op exp"
    assert (last.blame, last.about) == (Blame.NOTE, "check")
    assert last.text.endswith("the framework ended the process 1 time")


def test_a_framework_that_ends_while_it_is_loaded_is_an_adapter_error(capsys: pytest.CaptureFixture[str]):
    assert command.main(["check", f"{ENDING}:LeavesWhileProbed"]) == 10
    assert "could not be loaded: the process ended itself with exit code 3" in capsys.readouterr().out


def test_the_process_finds_the_same_as_a_check_in_this_process():
    assert watched("SaysOneThing") == tuple(check(InProcess(ending.SaysOneThing())))


def test_slow_ops_are_named_in_one_line(capsys: pytest.CaptureFixture[str]):
    assert command.main(["check", f"{ENDING}:SlowAtExp"]) == 0
    assert "- speed: more than 1 s for one small program, so that a run is slow: op exp 1." in capsys.readouterr().out
    assert not list(check(InProcess(Tiny())))


def test_no_line_is_advised_for_an_error_that_legal_calls_raise(capsys: pytest.CaptureFixture[str]):
    assert command.main(["check", f"{ENDING}:SaysOneThing"]) == 1
    said = capsys.readouterr().out
    assert "(the node is not in the graph). Legal calls raise it, too" in said
    assert "add to classify()" not in said


def test_a_line_is_advised_for_an_error_that_only_forbidden_calls_raise(capsys: pytest.CaptureFixture[str]):
    assert command.main(["check", f"{ENDING}:SaysOneThingRightly"]) == 0
    line = 'add to classify(): `if "the node is not in the graph" in str(error): return Kind.NO_GRAD`'
    assert line in capsys.readouterr().out


@pytest.mark.parametrize(("versions", "code"), [(">=0", 0), ("<0", 1)])
def test_an_entry_for_another_version_does_not_excuse(versions: str, code: int, tmp_path: Path):
    listed = tmp_path / "x.toml"
    listed.write_text(f'{ENTRY}any_value = true\nversion = "{versions}"\n')
    assert command.main(["check", "tests.frameworks.adapters.wrong:WrongSine", "--known", str(listed)]) == code
