"""Fixed programs of an op's uses, of optimizers and of failing calls: they have the situations that they are for."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from autograd_conformance.checking.audit import failures, optimizer_steps, uses
from autograd_conformance.checking.audit.joining import can_join
from autograd_conformance.checking.check import first_violation
from autograd_conformance.checking.support.alphabet import alphabet_of
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.limits import Limit
from autograd_conformance.ops.optimizers import OPTIMIZERS
from autograd_conformance.ops.rows.row import choices_of
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.language import (
    Apply,
    Backward,
    BackwardCall,
    Clip,
    Grad,
    InPlace,
    Leaf,
    Program,
    Step,
)
from autograd_conformance.programs.observations import Raised
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.alphabet import SAVING
from evaluation.fresh.fault import Fault
from evaluation.fresh.fifth.functional import JoinedKeepsWider
from evaluation.fresh.fifth.gradients import PoolReadsStorage
from evaluation.fresh.fifth.optimizers import SlicesNorm
from evaluation.fresh.fifth.writes import LastIsFirst
from evaluation.fresh.sixth.gradients import ReshapeOfExpanded
from evaluation.fresh.sixth.higher import BatchedProductTwice
from evaluation.fresh.sixth.hooks import RetainedStaysBehind
from evaluation.fresh.sixth.optimizers import DecayForEachDtype
from evaluation.mutants.mutant import UNSOUND

BOTH = ("float64", "float32")


def leaves(program: Program) -> list[Leaf]:
    return [step for step in program if isinstance(step, Leaf)]


def rules_broken(fault: type[Fault], programs: Iterable[Program]) -> set[str]:
    target = InProcess(fault())
    found = (first_violation(program, target.observe(program), target) for program in programs)
    return {violation.rule for violation in found if violation is not None}


# -- uses of an op ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["tanh", "matmul", "max_pool1d", "concat"])
def test_constants_have_several_layouts_and_no_call(op: str) -> None:
    program = uses.constants(op, "float64")
    assert program is not None and not any(leaf.requires_grad for leaf in leaves(program))
    made = [step for step in program if isinstance(step, Apply)]
    assert len({(step.op, step.attrs) for step in made if step.op != op}) >= 3
    assert not any(isinstance(step, Backward | Grad) for step in program)


@pytest.mark.parametrize(("op", "count"), [("tanh", 1), ("multiply", 2), ("layer_norm_affine", 3)])
def test_one_operand_alone_requires_grad(op: str, count: int) -> None:
    programs = list(uses.alone(op, "float64"))
    assert len(programs) == count
    for place, program in enumerate(programs):
        assert [leaf.requires_grad for leaf in leaves(program)] == [k == place for k in range(count)]
        assert [type(step) for step in program][-2:] == [Grad, Backward]


def test_an_operand_alone_may_have_another_dtype() -> None:
    programs = list(uses.alone("concat", "float32", rarity="mixed"))
    assert programs and all({leaf.value.dtype for leaf in leaves(program)} == {*BOTH} for program in programs)


def test_gradients_are_clipped_added_to_and_used_with_several_attributes() -> None:
    programs = list(uses.gathered("embedding", "float64"))
    assert len({step.attrs for program in programs for step in program if isinstance(step, Apply)}) == uses.FORMS
    kinds = [[type(step) for step in program if isinstance(step, Backward | Clip | Step)] for program in programs]
    assert all(kind == [Backward, Clip, Backward, Clip, Step] for kind in kinds)


@pytest.mark.parametrize("times", [1, 2])
def test_each_choice_of_attributes_is_differentiated(times: int) -> None:
    programs = list(uses.attributes("softplus", "float64", times))
    made = [step.attrs for program in programs for step in program if isinstance(step, Apply) and step.op == "softplus"]
    assert {*made} == {*choices_of(OPS["softplus"], ((3,),))} and len({*made}) > 1
    assert all(sum(isinstance(step, BackwardCall) for step in program) == times for program in programs)
    assert list(uses.attributes("tanh", "float64", times)) == []


def test_each_choice_of_attributes_of_a_view_is_written_to() -> None:
    programs = list(uses.written_views("select", "float64"))
    assert {dict(s.attrs)["index"] for p in programs for s in p if isinstance(s, Apply) and s.op == "select"} >= {-1, 0}
    assert all([step.op for step in p if isinstance(step, InPlace)] == ["copy_", "mul_"] for p in programs)


def test_where_compiling_is_expensive_each_use_can_be_joined() -> None:
    programs = list(uses.programs("multiply", BOTH, joinable=True))
    assert len(programs) == 6 and all(map(can_join, programs))


@pytest.mark.parametrize("op", sorted({*OPS} - UNSOUND)[::9])
def test_uses_hold_on_pytorch(op: str, torch_target: InProcess) -> None:
    for program in uses.programs(op, BOTH):
        assert first_violation(program, torch_target.observe(program), torch_target) is None


@pytest.fixture(scope="module")
def torch_target() -> InProcess:
    return InProcess(Fault())


@pytest.mark.parametrize(
    ("fault", "programs", "rule"),
    [
        (PoolReadsStorage, lambda: uses.programs("max_pool1d", BOTH), "gradients/forward"),
        (JoinedKeepsWider, lambda: uses.programs("concat", BOTH), "gradients/form"),
        (SlicesNorm, lambda: uses.programs("embedding", BOTH), "optimizers/clips"),
        (LastIsFirst, lambda: uses.written_views("select", "float64"), "views/history"),
        (ReshapeOfExpanded, lambda: uses.attributes("reshape", "float64"), "gradients/graph"),
        (BatchedProductTwice, lambda: uses.attributes("bmm", "float64", 2), "higher/op"),
        (RetainedStaysBehind, lambda: uses.written_views("select", "float64"), "hooks/retained"),
        (DecayForEachDtype, lambda: optimizer_steps.programs("adamw", BOTH), "optimizers/variants"),
    ],
    ids=lambda each: each.__name__ if isinstance(each, type) else "",
)
def test_they_find_faults_that_drawn_programs_did_not(fault, programs, rule) -> None:
    assert rules_broken(fault, programs()) == {rule}


# -- optimizers and failing calls -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_each_setting_of_an_optimizer_has_steps_in_each_implementation(name: str) -> None:
    row = OPTIMIZERS[name]
    programs = list(optimizer_steps.programs(name, BOTH))
    steps = [[step for step in program if isinstance(step, Step)] for program in programs]
    assert {each[0].settings for each in steps} == {(*c, *v) for c in row.choices for v in ((), *row.variants)}
    assert all(len({step.settings for step in each}) == 1 and len(each) == 4 for each in steps)


def test_a_framework_that_limits_these_ops_has_fewer_steps() -> None:
    class Limited(Fault):
        rule = ""
        limits = {name: Limit(dimensions=(1,)) for name in SAVING}

    with alphabet.using(alphabet_of(InProcess(Limited()), BOTH)):
        assert len(list(optimizer_steps.programs("sgd", BOTH))) < 64


@pytest.mark.parametrize("way", failures.WAYS)
def test_a_call_or_a_write_fails_in_each_mode(way: str, torch_target: InProcess) -> None:
    programs = list(failures.programs(way, "float64"))
    assert len(programs) == len(failures.MODES) * len(failures.OPTIONS)
    failing = 0
    for program in programs:
        observation = torch_target.observe(program)
        failing += any(isinstance(step.outcome, Raised) for step in observation)
        assert first_violation(program, observation, torch_target) is None
    assert failing >= len(failures.MODES)
