"""Programs drawn near others: few functions, many programs, and everything that Hypothesis does with them as ever."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings

from autograd_conformance.checking.seeding import BACKEND
from autograd_conformance.checking.support.compiled_regions import compiled_regions
from autograd_conformance.frameworks.pytorch.regions import TorchRegions
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Backward, Leaf, Program, ZeroGrad
from autograd_conformance.strategies.building import pool
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.building.pool import Pool
from autograd_conformance.strategies.sequences import sequences
from autograd_conformance.strategies.situations import gradients, lifetime

EACH = 20
TARGET = InProcess(TorchRegions())


def drawn(
    strategy: hypothesis.strategies.SearchStrategy[Drawn],
    near: Pool | None,
    look: Callable[[Program], None] = lambda program: None,
    count: int = 120,
    phases: tuple[Phase, ...] = (Phase.generate,),
    serves: Callable[[Program], bool] | None = None,
) -> list[Program]:
    """The programs that one seed draws, near each other where there is a pool."""
    ran: list[Program] = []

    @hypothesis.seed(3)
    @settings(
        max_examples=count, backend=BACKEND, deadline=None, database=None, phases=phases,
        suppress_health_check=list(HealthCheck), report_multiple_bugs=False,
    )  # fmt: skip
    @given(strategy)
    def run(case: Drawn) -> None:
        assume(near is None or near.accept(lambda: compiled_regions(case, TARGET)))
        ran.append(case.program)
        if near is not None and serves is not None:
            near.record_relevance(serves(case.program))
        look(case.program)

    with pool.using(near):
        run()
    return ran


def forms(programs: list[Program]) -> set[object]:
    """The programs less what their tensors hold."""
    return {tuple(type(step) if isinstance(step, Leaf) else step for step in program) for program in programs}


@pytest.mark.parametrize(
    "strategy", [lifetime.retained(), pytest.param(sequences(), marks=pytest.mark.slow)], ids=["retained", "sequences"]
)
def test_many_programs_have_few_functions(strategy):
    near = Pool(EACH)
    programs = drawn(strategy, near)
    found = {function for program in programs for function in compiled_regions(program, TARGET)}
    assert len(programs) == 120 and len(found) < 40
    assert len({repr(program) for program in programs}) > 100
    assert len(forms(programs)) > 40
    assert len({function for each in drawn(strategy, None) for function in compiled_regions(each, TARGET)}) > 120


def test_one_seed_draws_the_same():
    assert drawn(lifetime.retained(), Pool(EACH), count=30) == drawn(lifetime.retained(), Pool(EACH), count=30)


def clears(program: Program) -> bool:
    return any(isinstance(step, ZeroGrad) for step in program)


def test_programs_are_drawn_near_those_that_do_what_a_test_is_about():
    plain = drawn(lifetime.retained(), Pool(EACH))
    near = drawn(lifetime.retained(), Pool(EACH), serves=clears)
    assert sum(map(clears, near)) > 1.3 * sum(map(clears, plain))


@pytest.mark.slow
def test_what_fails_is_shrunk():
    def look(program: Program) -> None:
        calls = [step for step in program if isinstance(step, Backward)]
        shown.append(program)
        assert sum(step.retain_graph is True for step in calls) < 3

    shown: list[Program] = []
    with pytest.raises(AssertionError):
        drawn(lifetime.retained(), Pool(EACH), look, 400, (Phase.generate, Phase.shrink))
    assert len(shown[-1]) <= 5


EQUAL = [
    ("a = leaf [1, 2]; b = sin a; backward b with [1, 1]", "a = leaf [3, 4]; b = sin a; backward b with [2, 1]"),
    ("a = leaf [1, 2]; b = sin a; backward b with [1, 1]", "x = leaf 3; a = leaf [1, 2]; b = sin a"),
    ("a = leaf [1, 2]; b = sin a; c = cos b; backward c with [1, 1]", "a = leaf [1, 2]; b = sin a; c = cos b"),
]
OTHER = [
    ("a = leaf [1, 2]; b = sin a", "a = leaf [1, 2]; b = cos a"),
    ("a = leaf [1, 2]; b = sin a", "a = leaf [1, 2] const; b = sin a"),
    ("a = leaf [1, 2]; b = sin a", "a = leaf [1, 2, 3]; b = sin a"),
    ("a = leaf [1, 2]; b = sin a", "a = leaf f32 [1, 2]; b = sin a"),
    ("a = leaf [1, 2]; b = sin a", "a = leaf [1, 2]; no_grad: b = sin a"),
    ("a = leaf [1, 2]; b = sin a; c = cos b", "a = leaf [1, 2]; b = sin a; c = cos b; backward b with [1, 1]"),
    ("a = leaf [1, 2]; b = leaf [1, 2]; c = multiply a b", "a = leaf [1, 2]; c = multiply a a"),
    ("a = leaf [[1, 2]]; b = sum a dim=(0,) keepdim=False", "a = leaf [[1, 2]]; b = sum a dim=(1,) keepdim=False"),
]


@pytest.mark.parametrize(
    ("one", "other", "equal"), [(*each, True) for each in EQUAL] + [(*each, False) for each in OTHER]
)
def test_functions_are_told_apart_as_a_compiler_does(one, other, equal):
    found = [set(compiled_regions(parse(text, VOCABULARY), TARGET)) for text in (one, other)]
    assert (found[0] == found[1]) is equal


@pytest.mark.slow
def test_what_fails_in_two_functions_in_a_row_is_shrunk():
    def look(program: Program) -> None:
        found = TARGET.regions(program)
        shown.append(program)
        assert all(one.last + 1 < other.first for one, other in pairwise(found))

    shown: list[Program] = []
    with pytest.raises(AssertionError):
        drawn(gradients.chains(), None, look, 400, (Phase.generate, Phase.shrink))
    assert len(shown[-1]) <= 7
