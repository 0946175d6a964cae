"""The pool: programs reuse regions of earlier ones and differ otherwise, and Hypothesis shrinks failures as usual."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings

from autograd_conformance.checking.seeding import BACKEND
from autograd_conformance.checking.support.compiled_regions import compiled_regions
from autograd_conformance.frameworks.pytorch.modes.regions import TorchRegions
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Backward, Leaf, Program, ZeroGrad
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.building.randomness import pool
from autograd_conformance.strategies.building.randomness.pool import Pool
from autograd_conformance.strategies.sequences import sequences
from autograd_conformance.strategies.situations import gradients, lifetime

EACH = 20
TARGET = InProcess(TorchRegions())


def drawn(
    strategy: hypothesis.strategies.SearchStrategy[Drawn],
    used: Pool | None,
    inspect: Callable[[Program], None] = lambda program: None,
    count: int = 120,
    phases: tuple[Phase, ...] = (Phase.generate,),
    relevant: Callable[[Program], bool] | None = None,
    seed: int = 3,
) -> list[Program]:
    """The programs drawn from one seed, with a pool if there is one."""
    ran: list[Program] = []

    @hypothesis.seed(seed)
    @settings(
        max_examples=count, backend=BACKEND, deadline=None, database=None, phases=phases,
        suppress_health_check=list(HealthCheck), report_multiple_bugs=False,
    )  # fmt: skip
    @given(strategy)
    def run(case: Drawn) -> None:
        assume(used is None or used.accept(lambda: compiled_regions(case, TARGET)))
        ran.append(case.program)
        if used is not None and relevant is not None:
            used.record_relevance(relevant(case.program))
        inspect(case.program)

    with pool.using(used):
        run()
    return ran


def forms(programs: list[Program]) -> set[object]:
    """The programs without the values of their tensors."""
    return {tuple(type(step) if isinstance(step, Leaf) else step for step in program) for program in programs}


@pytest.mark.parametrize(
    "strategy", [lifetime.retained(), pytest.param(sequences(), marks=pytest.mark.slow)], ids=["retained", "sequences"]
)
def test_many_programs_have_few_regions(strategy):
    used = Pool(EACH)
    programs = drawn(strategy, used)
    found = {region for program in programs for region in compiled_regions(program, TARGET)}
    assert len(programs) == 120 and len(found) < 40
    assert len({repr(program) for program in programs}) > 100
    assert len(forms(programs)) > 40
    assert len({region for each in drawn(strategy, None) for region in compiled_regions(each, TARGET)}) > 120


def test_one_seed_draws_the_same():
    assert drawn(lifetime.retained(), Pool(EACH), count=30) == drawn(lifetime.retained(), Pool(EACH), count=30)


SEEDS = range(4)


def clears(program: Program) -> bool:
    return any(isinstance(step, ZeroGrad) for step in program)


def test_programs_that_exercise_the_rule_are_repeated():
    plain = used = 0
    for seed in SEEDS:  # the share of one seed varies by a factor of three
        plain += sum(map(clears, drawn(lifetime.retained(), Pool(EACH), count=250, seed=seed)))
        used += sum(map(clears, drawn(lifetime.retained(), Pool(EACH), count=250, relevant=clears, seed=seed)))
    assert used > 1.3 * plain


@pytest.mark.slow
def test_a_failing_program_is_shrunk():
    def inspect(program: Program) -> None:
        calls = [step for step in program if isinstance(step, Backward)]
        shown.append(program)
        assert sum(step.retain_graph is True for step in calls) < 3

    shown: list[Program] = []
    with pytest.raises(AssertionError):
        drawn(lifetime.retained(), Pool(EACH), inspect, 400, (Phase.generate, Phase.shrink))
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
def test_regions_are_distinguished_as_by_a_compiler(one, other, equal):
    found = [set(compiled_regions(parse(text, VOCABULARY), TARGET)) for text in (one, other)]
    assert (found[0] == found[1]) is equal


@pytest.mark.slow
def test_a_failure_of_two_adjacent_regions_is_shrunk():
    def inspect(program: Program) -> None:
        found = TARGET.regions(program)
        shown.append(program)
        assert all(one.last + 1 < other.first for one, other in pairwise(found))

    shown: list[Program] = []
    with pytest.raises(AssertionError):
        drawn(gradients.chains(), None, inspect, 400, (Phase.generate, Phase.shrink))
    assert len(shown[-1]) <= 7
