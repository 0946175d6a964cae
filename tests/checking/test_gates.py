"""Gates: the smallest programs of each stage, and the stages that they find wholly broken."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from autograd_conformance.checking.audit.gate_worker import END, GateNote, broken_stages
from autograd_conformance.checking.audit.gates import GATES, gates_of
from autograd_conformance.checking.audit.gating import NOTHING_WAITS, Waiting, gate_run, takes_long
from autograd_conformance.checking.check import violation_of
from autograd_conformance.frameworks.adapter import Adapter
from autograd_conformance.frameworks.pytorch.eager import TorchEager
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.editing import computation
from autograd_conformance.programs.formats.text import parse, render
from autograd_conformance.programs.language import Leaf
from autograd_conformance.rules.stages import NUMBER
from evaluation.mutants.accumulation import AddsTwice
from examples.tiny_adapter import Tiny
from tests.frameworks.adapters.broken import NoBackward, Overwrites, OverwritesNumbers, SilentHooks
from tests.frameworks.adapters.wrong import Scalars, Single

BROKEN = "tests.frameworks.adapters.broken"


def wrong(adapter: Adapter) -> Mapping[str, tuple[int, int]]:
    """For each stage with gates, how many go wrong, and how many there are."""
    target = InProcess(adapter)
    programs = {stage: list(gates_of(stage, target, adapter.dtypes[0])) for stage in GATES}
    return {
        stage: (sum(violation_of(each, target) is not None for each in found), len(found))
        for stage, found in programs.items()
        if found
    }


def test_each_stage_but_those_that_combine_others_has_gates() -> None:
    assert [*GATES] == [stage for stage in NUMBER if stage not in ("sequences", "articles")]


def test_all_gates_of_pytorch_are_right_and_there_are_several_for_each_stage() -> None:
    found = wrong(TorchEager())
    assert {*found} == {*GATES}
    assert all(bad == 0 and number > 2 for bad, number in found.values())


@pytest.mark.parametrize("adapter", [Tiny(), Single(), Scalars()], ids=lambda each: each.name)
def test_a_small_framework_has_the_gates_that_it_claims_to_support(adapter: Adapter) -> None:
    found = wrong(adapter)
    assert {"forward values", "first gradients", "accumulation and clearing"} <= {*found}
    assert "hooks" not in found
    assert all(bad == 0 for bad, _ in found.values())
    target = InProcess(adapter)
    leaves = [step for each in gates_of("first gradients", target, adapter.dtypes[0]) for step in each]
    assert {step.value.dtype for step in leaves if isinstance(step, Leaf)} == {adapter.dtypes[0]}


@pytest.mark.parametrize(
    ("adapter", "stage"),
    [(NoBackward(), "first gradients"), (Overwrites(), "accumulation and clearing"), (SilentHooks(), "hooks")],
    ids=lambda each: getattr(each, "name", each),
)
def test_all_gates_of_a_wholly_broken_stage_go_wrong(adapter: Adapter, stage: str) -> None:
    found = wrong(adapter)
    bad, number = found[stage]
    assert bad == number > 2
    before = [each for each in found if NUMBER[each] < NUMBER[stage]]
    assert all(found[each][0] == 0 for each in before)


def test_a_stage_that_is_broken_in_one_form_has_a_right_gate() -> None:
    bad, number = wrong(OverwritesNumbers())["accumulation and clearing"]
    assert 0 < bad < number


def test_a_gate_that_breaks_a_rule_of_another_stage_breaks_no_stage() -> None:
    target = InProcess(AddsTwice())
    for program in gates_of("accumulation and clearing", target, "float64"):
        violation = violation_of(program, target)
        assert violation is not None and violation.rule.startswith("gradients/")
        assert not GATES["accumulation and clearing"].is_broken_by(violation)
        assert GATES["first gradients"].is_broken_by(violation)


def test_only_several_gates_that_all_go_wrong_break_a_stage() -> None:
    fault = {"program": {}, "rule": "gradients/op", "observed": "no"}
    bad = [GateNote("hooks", at, "wrong", fault) for at in range(3)]
    assert {*broken_stages(bad)} == {"hooks"} and len(broken_stages(bad)["hooks"]) == 3
    for more in (GateNote("hooks", 3, "right"), GateNote("hooks", 3, "undecided")):
        assert broken_stages([*bad, more]) == {}
    assert broken_stages(bad[:1]) == {}, "a single program may be a detail"
    assert {*broken_stages([*bad, GateNote(END)])} == {"hooks"}


def test_what_waits_is_said_with_its_reason() -> None:
    waiting = Waiting.of(frozenset({"hooks"}))
    assert waiting.reason("hooks") == "all smallest programs of the stage 'hooks' go wrong"
    needs = "the stage 'sequences' needs 'hooks', and all smallest programs of the stage 'hooks' go wrong"
    assert waiting.reason("sequences") == needs
    assert waiting.reason("accumulation and clearing") is None and NOTHING_WAITS.reason("hooks") is None
    assert Waiting({**waiting.stages}) == waiting, "as another process receives it"


def test_the_computation_of_a_program_is_left_without_its_calls() -> None:
    text = "a = leaf 2; b = multiply a a; backward b; c = grad b wrt a; d = multiply c b; e = detach b; zero a"
    assert render(computation(parse(text, VOCABULARY))).split("\n") == [
        "a = leaf 2",
        "b = multiply a a",
        "c = detach b",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "broken"),
    [("NoBackward", {"first gradients"}), ("DiesAdding", {"accumulation and clearing"}), ("OverwritesNumbers", set())],
)
def test_gates_run_in_processes_of_their_own(name: str, broken: set[str]) -> None:
    found = gate_run(f"{BROKEN}:{name}", "cpu", "float64", 60.0)
    assert {*found.broken} == broken
    assert found.is_complete and not found.is_slow
    for faults in found.broken.values():
        assert len(faults) > 2, "each of its gates went wrong"
        if name == "DiesAdding":
            assert {fault.observed for fault in faults} == {"the process ended itself with exit code 7"}


@pytest.mark.slow
def test_a_slow_framework_is_noticed() -> None:
    found = gate_run(f"{BROKEN}:Seconds", "cpu", "float64", 60.0)
    assert found.is_slow and not found.broken


@pytest.mark.parametrize(
    ("gate_seconds", "ops", "seconds", "long"),
    [
        (0.0015, 334, 60.0, False),
        (0.0045, 334, 60.0, False),
        (0.016, 237, 60.0, True),
        (0.1, 237, 290.0, True),
        (0.1, 237, 900.0, False),
        (0.1, 4, 60.0, False),
        (0.01, 237, 60.0, False),
        (0.2, 1, 900.0, True),
    ],
)
def test_ops_run_in_batches_if_running_each_alone_would_take_too_long(
    gate_seconds: float, ops: int, seconds: float, long: bool
) -> None:
    assert takes_long(gate_seconds, ops, seconds) is long
