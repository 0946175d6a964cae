"""The judge keeps its own NumPy functions, and a run reports if its judge no longer works."""

from __future__ import annotations

import re

import numpy as np
import pytest

from autograd_conformance.checking import known_answers
from autograd_conformance.checking.known_answers import judge_error
from autograd_conformance.package.places import PACKAGE
from autograd_conformance.programs import own_numpy
from autograd_conformance.programs.language import Ref
from autograd_conformance.programs.observations import Observation
from tests.frameworks.adapters.rebinding import REBOUND, zeros
from tests.plugin.test_cli import ONE, run, verdicts

REBINDING = "tests.frameworks.adapters.rebinding"


@pytest.mark.parametrize("name", REBOUND)
def test_what_a_framework_rebinds_changes_no_verdict(name, monkeypatch):
    assert judge_error() is None  # JAX has traced by now what it traces
    for function, value in REBOUND[name].items():
        monkeypatch.setattr(np, function, value)
    assert judge_error() is None
    assert {f"np.{function}" for function in REBOUND[name]} <= {*own_numpy.rebound()}


def test_modules_of_numpy_are_held_as_well(monkeypatch):
    monkeypatch.setattr(np.linalg, "svd", zeros)
    assert own_numpy.np.linalg.svd is not zeros
    assert own_numpy.rebound() == ["np.linalg.svd"]


@pytest.mark.parametrize(("function", "value"), [("abs", zeros), ("exp", zeros)])
def test_a_judge_that_was_changed_all_the_same_is_found_out(function, value, monkeypatch):
    monkeypatch.setattr(own_numpy.np, function, value)
    why = judge_error()
    assert why is not None
    assert "the suite's judge cannot be trusted in this process: it is wrong about" in why


def test_every_fourth_turn_tries_another_wrong_observation(monkeypatch):
    tried: list[Observation] = []
    right = str(known_answers._observation(*known_answers.KNOWN[0][1]))
    monkeypatch.setattr(known_answers, "_passes", lambda seen: tried.append(seen) or str(seen) == right)
    assert [judge_error(turn) for turn in range(24)] == [None] * 24
    shown = [f"{each[1].outcome} {each[-1].gradients[Ref(0)]}" for each in tried if str(each) != right]
    assert len(tried) == 24 + 6
    assert shown[:3] == shown[3:]
    assert len({*shown}) == 3


def test_the_reason_is_named(monkeypatch):
    monkeypatch.setattr(known_answers, "_passes", lambda observation: True)
    monkeypatch.setattr(np, "hypot", zeros)
    assert judge_error() == (
        "the suite's judge cannot be trusted in this process: it is wrong about a gradient twice as large; "
        "the framework has rebound np.hypot"
    )


def test_every_room_looks_numpy_up_where_no_framework_can_rebind_it():
    rooms = ("programs", "ops", "reference", "tape", "rules", "strategies", "checking", "failures", "known_differences")
    files = [file for room in rooms for file in (PACKAGE / room).rglob("*.py")]
    elsewhere = ("pytorch", "__pycache__")  # PyTorch's own adapter may use NumPy as it finds it
    files += [file for file in (PACKAGE / "frameworks").rglob("*.py") if not {*elsewhere} & {*file.parts}]
    found = {file.name for file in files if re.search(r"^(import|from) numpy\b", file.read_text(), re.MULTILINE)}
    assert found == {"own_numpy.py", "worker.py"}  # a worker tells NumPy's version


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Abs", "Equal", "Finfo"])
def test_a_framework_that_rebinds_is_found_wrong(name, tmp_path):
    seen = run(tmp_path, ONE, framework=f"{REBINDING}:{name}")
    if seen.code == 10:  # JAX traces with NumPy's functions, where nothing was traced before
        assert re.search("adapter error: .*; the framework has rebound np[.]", " ".join(seen.output.split()))
    else:
        assert seen.code == 1
        assert verdicts(seen.report)[ONE] == "fail" or seen.report.failures, "a stage is broken, and the test waits"


@pytest.mark.slow
def test_a_run_whose_judge_was_changed_has_no_verdict(tmp_path):
    seen = run(tmp_path, ONE, framework=f"{REBINDING}:Within")
    assert seen.code == 10
    assert "adapter error: tiny: the suite's judge cannot be trusted in this process" in " ".join(seen.output.split())
