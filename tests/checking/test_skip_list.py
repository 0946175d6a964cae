"""The user's list of ops and rules that a run leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograd_conformance.checking.check import RuleViolated
from autograd_conformance.checking.session import FrameworkUnderTest, Settings
from autograd_conformance.checking.skip_list import MalformedSkips, Skip, Skips, read
from autograd_conformance.programs.formats.parser import parse
from autograd_conformance.reporting.analysis.rule_verdicts import selected
from autograd_conformance.reporting.analysis.summary import summarize
from tests.plugin.test_cli import WRONG, run

LIST = '[[skip]]\nop = "sin"\nbecause = "its derivative is planned for version 2"\n'
HOOKS = '[[skip]]\nrule = "gradients/op"\nbecause = "not yet"\n'


def written(folder: Path, text: str) -> Path:
    path = folder / "skip.toml"
    path.write_text(text)
    return path


def test_a_list_names_ops_and_rules_with_reasons(tmp_path: Path) -> None:
    found = read(written(tmp_path, LIST + HOOKS), {"sin"}, {"gradients/op"})
    reason = "its derivative is planned for version 2"
    assert found == Skips((Skip("sin", None, reason), Skip(None, "gradients/op", "not yet")))
    assert found.reason("hooks/order", "sin") == f"the skip list has it, because {reason}"
    assert found.reason("hooks/order", "exp") is None is found.reason("hooks/order", None)
    assert found.notes() == (f"skipped: op sin, because {reason}", "skipped: rule gradients/op, because not yet")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[skip]]\nop = 'sin'", "entry 1: an entry has op or rule, and because"),
        ("[[skip]]\nop = 'sin'\nbecause = ' '", "because has to be a text"),
        ("[[skip]]\nop = 'sine'\nbecause = 'x'", "there is no op 'sine'"),
        ("[[skip]]\nrule = ['a']\nbecause = 'x'", "rule has to be a text"),
        ("skip = 1", "the file may only have tables"),
        ("[[difference]]", "the file may only have tables"),
        ("[[skip", "not TOML"),
    ],
)
def test_any_other_list_is_refused(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(MalformedSkips, match=r"skip\.toml") as error:
        read(written(tmp_path, text), {"sin"}, {"gradients/op"})
    assert said in str(error.value)


def test_a_skipped_rule_is_neither_reported_nor_counted() -> None:
    program = parse("a = leaf [1, 2]; b = sin a; backward b with [1, 1]")
    skips = Skips((Skip(None, "gradients/op", "not yet"),))
    check = FrameworkUnderTest(Settings(f"{WRONG}:WrongSine", skips=skips)).check("accumulation/first")
    check(program)
    assert check.programs == 1 and not check.exercised["gradients/op"]
    with pytest.raises(RuleViolated):
        FrameworkUnderTest(Settings(f"{WRONG}:WrongSine")).check("accumulation/first")(program)


def test_a_skipped_op_is_in_no_program() -> None:
    framework = FrameworkUnderTest(Settings("examples.tiny_adapter:Tiny", skips=Skips((Skip("sin", None, "x"),))))
    assert "sin" not in framework.target.ops and "sin" not in framework.offer.ops


@pytest.mark.slow
def test_a_run_with_skips_is_a_selection(tmp_path: Path) -> None:
    path = written(tmp_path, LIST)
    tests = ("suites/test_gradients.py::test_op[sin]", "suites/test_gradients.py::test_op[exp]")
    seen = run(tmp_path, *tests, f"--skip={path}", framework=f"{WRONG}:WrongSine")
    assert "note: skipped: op sin, because its derivative is planned" in seen.output
    assert {each.op: each.verdict for each in seen.report.results if each.op in ("sin", "exp")} == {
        "sin": "skipped",
        "exp": "pass",
    }
    assert selected(seen.report) and summarize(seen.report).conclusion == "selection passed"
    assert seen.code == 0 and not seen.report.failures
    assert "its derivative is planned" in (tmp_path / "report.md").read_text()


@pytest.mark.slow
def test_an_unusable_list_is_wrong_usage(tmp_path: Path) -> None:
    assert run(tmp_path, f"--skip={tmp_path / 'absent.toml'}").code == 4
