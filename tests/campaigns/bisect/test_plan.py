"""Plans of searches: their steps, and messages about plans that cannot be run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autograd_conformance import cli as command
from autograd_conformance.campaigns.bisect.environment import Given, Installed
from autograd_conformance.campaigns.bisect.finding import finding
from autograd_conformance.campaigns.bisect.plan import FILE, SearchPlan
from autograd_conformance.campaigns.command import read_plan as read
from autograd_conformance.campaigns.plans.table import MalformedPlan
from tests.campaigns.bisect.versions import FRAMEWORK, PROGRAM, program

BOTH = "findings = ['finding.json']\nversions = ['1.0', '2.0']\n"
HEAD = f"[[bisect]]\nframework = '{FRAMEWORK}'\n"
PYTHON = "python = 'envs/{}/bin/python'\n"
KNOWN = """
[[known]]
rule = "gradients/op"
op = "sin"
any_value = true
reason = "because"
witness = "a = leaf 1; b = sin a; backward b"

[[known]]
rule = "gradients/op"
op = "cos"
any_value = true
reason = "because"
witness = "a = leaf 1; b = cos a; backward b"
"""


def read_plan(folder: Path, text: str) -> SearchPlan:
    program(folder)
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    found = read(folder / "plan.toml")
    assert isinstance(found, SearchPlan)
    return found


def test_each_finding_is_looked_for_in_each_version(tmp_path: Path) -> None:
    (tmp_path / "known.toml").write_text(KNOWN)
    text = HEAD + BOTH.replace("['finding.json']", "['finding.json', 'known.toml']") + PYTHON
    plan = read_plan(tmp_path, f"{text}device = 'cuda'\npatience = 7\nresources = {{'mine-{{}}' = 1, GPU = 0.5}}\n")
    assert [search.finding_files.title for search in plan.searches] == [
        "gradients/op (finding.json)", "gradients/op, op sin (known.toml, 1)", "gradients/op, op cos (known.toml, 2)",
    ]  # fmt: skip
    first, second = plan.searches[0].steps
    assert (first.version, second.version) == tuple(Given(each, f"envs/{each}/bin/python") for each in ("1.0", "2.0"))
    assert (first.resources, second.resources) == ({"mine-1.0": 1, "GPU": 0.5}, {"mine-2.0": 1, "GPU": 0.5})
    assert len({step.name for step in plan.steps}) == 6
    words = second.arguments(tmp_path, "python", tmp_path / "out.json")
    assert {"--step", "--number=1", "--framework-python=python", "--device=cuda", "--patience=7"} < set(words)
    assert plan.searches[2].finding_files.files == (("known.toml", KNOWN),)
    assert plan.searches[2].finding_files.number == 2


def test_workers_get_the_finding_that_the_file_holds(tmp_path: Path) -> None:
    form = {**PROGRAM, "before": [{key: value for key, value in PROGRAM.items() if key != "rule"}]}
    plan = read_plan(tmp_path, HEAD + BOTH + PYTHON)
    (tmp_path / "finding.json").write_text(json.dumps(form))
    plan = _again(tmp_path)
    ((name, text),) = plan.searches[0].finding_files.files
    assert name == FILE
    (tmp_path / FILE).write_text(text)
    sent = finding(tmp_path / FILE)
    assert sent.before
    (tmp_path / "there.json").write_text(json.dumps(form))
    assert sent == finding(tmp_path / "there.json")


def _again(folder: Path) -> SearchPlan:
    found = read(folder / "plan.toml")
    assert isinstance(found, SearchPlan)
    return found


def test_a_verdict_hangs_on_all_that_decides_it_and_on_nothing_else(tmp_path: Path) -> None:
    def names(text: str) -> set[str]:
        return {step.name for step in read_plan(tmp_path, text).steps}

    plain = names(HEAD + BOTH + PYTHON)
    assert names(f"{HEAD}{BOTH}{PYTHON}resources = {{GPU = 1}}\n") == plain
    assert plain < names(HEAD + BOTH.replace("'1.0'", "'0.9', '1.0'") + PYTHON), "what is kept counts in a longer plan"
    for other in ("device = 'cuda'\n", "patience = 3\n"):
        assert not plain & names(HEAD + BOTH + PYTHON + other)
    assert not plain & names(HEAD + BOTH + PYTHON.replace("envs", "other"))


def test_versions_may_be_installed(tmp_path: Path) -> None:
    text = f"{HEAD}{BOTH}install = ['mine=={{}}', 'numpy<2']\nenvironments = '/made'\n"
    first, _ = read_plan(tmp_path, text).searches[0].steps
    assert first.version == Installed("1.0", ("mine==1.0", "numpy<2"), Path("/made"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"[[work]]\nframeworks = ['torch']\n{HEAD}{BOTH}{PYTHON}", "unknown key 'work'"),
        ("bisect = []\n", "it has no [[bisect]]"),
        (f"[[bisect]]\n{BOTH}{PYTHON}", "framework is missing"),
        (f"[[bisect]]\nframework = 'nobody'\n{BOTH}{PYTHON}", "unknown framework 'nobody'"),
        (HEAD + BOTH, "name either the python of each version's environment, or what to install"),
        (f"{HEAD}{BOTH}{PYTHON}install = ['mine=={{}}']\n", "name either the python"),
        (f"{HEAD}{BOTH}python = '/envs/bin/python'\n", "write {} in place of the version"),
        (f"{HEAD}{BOTH}{PYTHON}environments = '/made'\n", "only for versions that are installed"),
        (HEAD + BOTH.replace(", '2.0'", "") + PYTHON, "name at least two versions"),
        (HEAD + BOTH.replace("finding.json", "no.json") + PYTHON, "no.json: No such file"),
        (f"{HEAD}{BOTH}{PYTHON}number = 2\n", "finding.json holds no such finding"),
        (f"{HEAD}{BOTH}{PYTHON}rule = 'higher/op'\n", "finding.json holds no such finding"),
    ],
)
def test_what_is_wrong_in_a_plan_is_said(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(MalformedPlan) as error:
        read_plan(tmp_path, text)
    assert said in str(error.value)


def test_the_command_says_what_a_plan_comes_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read_plan(tmp_path, f"{HEAD}{BOTH}{PYTHON}resources = {{'mine-{{}}' = 1}}\n")
    line = ["campaign", str(tmp_path / "plan.toml"), "--storage=kept", "--check"]
    assert command.main([*line, "--scheduler=tcp://nowhere:1"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "1 finding, 2 verdicts", f"  {FRAMEWORK}: gradients/op (finding.json): 1.0, 2.0"
    ]  # fmt: skip
    assert command.main(line) == 4, "no process here offers that"
    assert "needs mine-1.0=1, and workers here offer 0" in capsys.readouterr().err
