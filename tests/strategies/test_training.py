"""Training loops: the drawn plans, the effect of a bug on a program, and the outcomes in the model and in PyTorch."""

from __future__ import annotations

import re
import statistics
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import hypothesis
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from autograd_conformance.checking.check import related_as
from autograd_conformance.checking.session import FrameworkUnderTest, Settings
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.known_differences import is_known, known
from autograd_conformance.ops.optimizers import OPTIMIZERS
from autograd_conformance.programs.formats.text import parse, render
from autograd_conformance.programs.language import Program, Ref
from autograd_conformance.programs.observations import Kind
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.judge.judge import judge
from autograd_conformance.rules.judge.judgement import Judgement
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.relations import training as relations
from autograd_conformance.strategies.training import PATTERNS, Clearing, LoopBug, Plan, build, loops, plans
from evaluation.pages import mistakes

TORCH = Torch()
ONE = (("sgd", (("lr", 0.125),), ()),)
TURNS = {"truncated time": 2}
PAIRS = [(name, bug) for name, row in PATTERNS.items() for bug, _ in row.bugs]


def drawn(strategy: st.SearchStrategy, number: int, seed: int = 0) -> list:
    """A number of values drawn from a strategy."""
    found = []

    @hypothesis.seed(seed)
    @settings(
        max_examples=number, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def take(value: object) -> None:
        found.append(value)

    take()
    return found


def judged(program: Program) -> Judgement:
    """The judgement of PyTorch's run."""
    with warnings.catch_warnings(action="ignore"):
        return judge(program, run(program, TORCH), Reference(), TORCH.capabilities)


def simple(pattern: str, *bugs: LoopBug, **changes: object) -> Plan:
    """The simplest plan of a pattern."""
    owned = len(PATTERNS[pattern].owns)
    plan = Plan(pattern, optimizers=ONE * owned, count=PATTERNS[pattern].counts[0], data=bytes(24))
    return replace(plan, bugs=frozenset(bugs), **changes)  # type: ignore[arg-type]


@pytest.fixture(scope="module", autouse=True)
def _alphabet() -> Iterator[None]:
    """Draw from PyTorch's alphabet."""
    framework = FrameworkUnderTest(Settings("torch"))
    with alphabet.using(alphabet.current()):
        framework.prepare()
        yield


# -- what is drawn -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sample() -> list[Plan]:
    return drawn(plans(), 1500)


def test_everything_occurs(sample: list[Plan]):
    assert {plan.pattern for plan in sample} == set(PATTERNS)
    assert {bug for plan in sample for bug in plan.bugs} == set(LoopBug)
    assert {name for plan in sample for name, _, _ in plan.optimizers} == set(OPTIMIZERS)
    assert {plan.iterations for plan in sample} == set(range(1, 9))
    assert {plan.clearing for plan in sample} == set(Clearing)
    assert {plan.layers for plan in sample} == {1, 2, 3}
    assert {plan.clip[0] for plan in sample if plan.clip} == {"norm", "value"}
    assert {key for plan in sample for _, given, _ in plan.optimizers for key, _ in given} >= {"fused", "foreach"}
    for field in ("bias", "to_none", "fresh", "deletes", "wide", "out", "batch", "activation", "loss", "reduction"):
        assert len({getattr(plan, field) for plan in sample}) > 1, field
    modules = [plan for plan in sample if plan.networks]
    assert 0.1 < len(modules) / len(sample) < 0.4
    assert any("nn_linear" in render(build(plan)) for plan in modules[:20])
    for name, row in PATTERNS.items():
        mine = [plan for plan in sample if plan.pattern == name]
        assert {plan.variant for plan in mine} == set(range(row.variants))
        assert {plan.count for plan in mine} == set(row.counts)


def test_half_of_the_plans_have_no_bug_and_few_have_two(sample: list[Plan]):
    counts = Counter(len(plan.bugs) for plan in sample)
    assert 0.4 < counts[0] / len(sample) < 0.7
    assert 0 < counts[2] < counts[1]
    assert statistics.median(plan.iterations for plan in sample) in (3, 4, 5)


@pytest.mark.slow
def test_programs_have_a_loop_s_size():
    sizes = [len(loop.program) for loop in drawn(loops(), 300)]
    assert 25 <= statistics.median(sizes) <= 100
    assert max(sizes) > 150


def test_a_plan_is_one_program(sample: list[Plan]):
    for plan in sample[:50]:
        assert build(plan) == build(plan)


# -- what a bug changes ------------------------------------------------------------------------------------------------

FREE = {
    LoopBug.ZERO: "zero ", LoopBug.CLEARED: "zero ", LoopBug.EARLY: "step ", LoopBug.BETWEEN: "step ",
    LoopBug.TWICE: ("backward ", "grad "), LoopBug.DETACH: "detach ", LoopBug.RETAIN: (),
}  # fmt: skip
"""The instructions of a program that a bug may add, remove or move."""


def _kinds(program: Program, free: str | tuple[str, ...]) -> list[str]:
    """A program's lines without the names of values and without the lines that a bug may change."""
    lines = (re.sub(r"^[a-z0-9, ]+ = ", "", line) for line in render(program).splitlines())
    kept = (line for line in lines if not line.startswith(free))
    return [re.sub(r"\b[a-z]\d*\b,?", "", re.sub(r" retain=\w+", "", line)).strip() for line in kept]


@pytest.mark.parametrize(("pattern", "bug"), PAIRS, ids=lambda value: getattr(value, "name", value))
def test_with_and_without_a_bug_a_loop_is_the_same_but_for_that(pattern: str, bug: LoopBug):
    """Compared as far as both programs go: a loop ends when a parameter grows too large, which the bug may cause."""
    differ, whole = 0, 0
    for plan in drawn(plans(pattern, (bug,)), 12):
        short = replace(plan, iterations=TURNS.get(pattern, 1), activation="tanh", loss="mse_loss", deletes=False)
        wrong, right = build(short), build(short.with_bugs())
        got, expected = _kinds(wrong, FREE[bug]), _kinds(right, FREE[bug])
        both = min(len(got), len(expected))
        assert got[:both] == expected[:both]
        differ += wrong != right
        whole += len(got) == len(expected)
    assert differ > 6
    assert whole > 6


def test_the_simplest_loop():
    assert render(build(simple("one loss"))).splitlines() == [
        "a = leaf [[0.25, 0.5]]",
        "optimizer a sgd lr=0.125",
        "zero a",
        "b = leaf [[0.25, 0.5], [0.75, 1]] const",
        "c = linear b a",
        "d = leaf [[0.25], [0.5]] const",
        "e = mse_loss c d reduction='mean'",
        "backward e",
        "step a sgd lr=0.125",
    ]


def test_a_state_that_is_carried_over():
    plan = simple("truncated time", iterations=2)
    assert render(build(plan)).count("detach") == 1
    assert "detach" not in render(build(plan.with_bugs(LoopBug.DETACH)))


def test_the_discriminator_s_batch_is_detached():
    text = render(build(simple("generator and discriminator")))
    assert text.count("detach") == 1
    assert text.count("backward") == text.count("step") == 2


# -- what the model says of mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plan", "changed"),
    [
        (simple("one loss", LoopBug.ZERO), mistakes.NOTHING),
        (simple("one loss", LoopBug.ZERO, iterations=2), mistakes.OTHER),
        (simple("one loss", LoopBug.TWICE), Kind.GRAPH_FREED.value),
        (simple("one loss", LoopBug.CLEARED), mistakes.OTHER),
        (simple("several losses", LoopBug.RETAIN, count=2, layers=2), Kind.GRAPH_FREED.value),
        (simple("several losses", LoopBug.BETWEEN, count=2, layers=2), mistakes.EITHER),
        (simple("chained networks", LoopBug.DETACH, layers=2), Kind.GRAPH_FREED.value),
        (simple("generator and discriminator", LoopBug.DETACH, layers=2), Kind.GRAPH_FREED.value),
        (simple("truncated time", LoopBug.DETACH), mistakes.NOTHING),
        (simple("truncated time", LoopBug.DETACH, iterations=2), Kind.GRAPH_FREED.value),
        (simple("truncated time", LoopBug.DETACH, iterations=3, variant=1), mistakes.EITHER),
    ],
    ids=lambda value: value.pattern if isinstance(value, Plan) else None,
)
def test_the_effect_of_a_bug(plan: Plan, changed: str):
    recorder, wrong = mistakes.model_outcome(plan)
    _, right = mistakes.model_outcome(plan.with_bugs())
    assert mistakes.outcome(wrong, right) == changed
    judgement = judged(recorder.program())
    assert judgement.violation is None
    assert not judgement.unspecified


def test_the_table_is_the_same_each_time():
    framework = FrameworkUnderTest(Settings("torch"))
    rows = [mistakes.measured(LoopBug.DETACH, PATTERNS["truncated time"], 8, framework) for _ in range(2)]
    assert rows[0] == rows[1]
    assert rows[0].plans == 8


def test_the_page_has_every_bug_in_every_pattern():
    page = mistakes.PAGE.read_text(encoding="utf-8")
    for part in page.split("\n## ")[1:]:
        bug = next(m for m in LoopBug if part.startswith(m.value))
        assert re.findall(r"^\| (.+?) \| \d", part, re.M) == [name for name, m in PAIRS if m is bug]


# -- what PyTorch does -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", PATTERNS)
def test_loops_are_judged_to_the_end_without_an_alarm(pattern: str):
    lost, listed = 0, known("torch")
    for loop in drawn(loops(pattern), 25, seed=3):
        program = loop.program
        judgement = judged(program)
        violation = judgement.violation
        assert violation is None or any(is_known(e, program, violation) for e in listed), render(program)
        lost += judgement.unspecified
    assert lost <= 1


@pytest.mark.parametrize("make", [relations.micro_batches, relations.several_losses, relations.networks_apart])
def test_related_loops_give_the_same(make):
    decided = 0
    for related in drawn(make(), 25):
        with warnings.catch_warnings(action="ignore"):
            relation = related_as(related, run(related.first, TORCH), run(related.second, TORCH), InProcess(TORCH))
        assert relation.violation is None
        decided += relation.decided
    assert decided > 15


# -- what loops need of the rules and of the reference -----------------------------------------------------------------

STEPPED = "a = leaf [1, 2]; b = square a; backward b with [1, 1]; step a sgd lr=0.125; c = square a"


def test_a_call_after_a_step_exercises_the_loop():
    assert judged(parse(f"{STEPPED}; backward c with [1, 1]")).exercised["training/loop"] == 1
    other = "a = leaf [1, 2]; d = leaf [1, 2]; b = square a; backward b with [1, 1]; step a sgd lr=0.125; c = square d"
    assert "training/loop" not in judged(parse(f"{other}; backward c with [1, 1]")).exercised


def test_a_refused_call_gives_nothing():
    reference = Reference()
    for step in parse("a = leaf [1, 2]; b = square a; backward b with [1, 1]"):
        reference.add(step)
    reference.skip(parse("a = leaf [1, 2]; b = square a; backward b with [1, 1]")[2])
    assert np.array_equal(reference.grad(Ref(0)), [2, 4])


def test_a_frozen_leaf_keeps_its_gradient():
    reference = Reference(parse("a = leaf [1, 2]; b = square a; backward b with [1, 1]; requires a False"))
    assert np.array_equal(reference.grad(Ref(0)), [2, 4])


def test_the_memory_of_a_gradient_that_was_replaced_may_be_used_again():
    turn = "b = square a; backward b with [1, 1]; c = held a; d = multiply_scalar c scalar=0.5; assign a d; zero a; "
    turns = [turn + "drop b, c, d"] * 6
    text = "; ".join(re.sub(r"\b([bcd])\b", lambda m, n=n: f"{m[1]}{n + 1}", each) for n, each in enumerate(turns))
    judgement = judged(parse("a = leaf [1, 2, 3, 4]; " + text))
    assert judgement.violation is None
    assert not judgement.unspecified
