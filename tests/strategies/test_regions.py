"""The situations of regions: each program contains the feature of its situation and exercises the situation's rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from autograd_conformance.checking.check import Check
from autograd_conformance.checking.seeding import BACKEND
from autograd_conformance.checking.support.alphabet import alphabet_of
from autograd_conformance.frameworks.pytorch.modes.compiled import TorchCompileAot
from autograd_conformance.frameworks.pytorch.modes.regions import TorchRegions
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.known_differences import known
from autograd_conformance.ops.random import RANDOM_OPS
from autograd_conformance.printing.regions import canonical
from autograd_conformance.programs.language import (
    Apply,
    Backward,
    Hook,
    InPlace,
    Program,
    Ref,
    RetainGrad,
    SetRequiresGrad,
    Step,
)
from autograd_conformance.programs.observations import Observation, Raised
from autograd_conformance.programs.regions import Region, observed_regions
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.building.randomness import pool
from autograd_conformance.strategies.building.randomness.hypothesis_internals import makes_strategy
from autograd_conformance.strategies.building.randomness.pool import Pool
from autograd_conformance.strategies.building.unsupported import Unsupported
from autograd_conformance.strategies.situations import hooks, lifetime, regions, repeated_regions, writes
from autograd_conformance.suites import test_units as suite

EACH = 24
FRAMEWORK = TorchRegions()
TARGET = InProcess(FRAMEWORK)
TESTS = {name: test for name, test in vars(suite).items() if name.startswith("test_")}
SITUATIONS = {name: make for name, make in {**vars(regions), **vars(repeated_regions)}.items() if makes_strategy(make)}

FLOORS: dict[str, dict[str, float]] = {
    "results_apart": {"calls on several results": 0.5, "two calls with different retain_graph": 0.3},
    "branches_apart": {"calls on several regions": 0.9},
    "viewed_results": {"results in one memory": 0.8, "result written after it": 0.8},
    "unneeded_written": {"result written after it": 0.9},
    "inputs_given_out": {"result in an input's memory": 0.8},
    "inputs_written": {"input or result written after it": 0.9},
    "weights_stepped": {"input stepped after it": 0.9, "the same region again": 0.9},
    "inputs_toggled": {"input toggled after it": 0.9, "the same region again": 0.8},
    "hooked_between": {"input or result hooked after it": 0.9},
    "twins": {"inputs in one memory": 0.7},
    "numbers_and_empties": {"number among the inputs": 0.9, "empty input": 0.2},
    "called_again": {
        "the same region again": 0.9, "again with other flags": 0.2, "again under another mode": 0.2,
        "again in another shape": 0.05, "again in another layout": 0.05, "again with different retain_graph": 0.1,
    },
    "called_after_an_error": {"the same region after an error": 0.5},
    "modes_inside": {"several modes inside": 0.7, "modes inside modes": 0.4},
    "computed_again": {"the same computation again after a write": 0.5},
    "masks_inside": {"random op inside": 0.9},
}  # fmt: skip
"""Smallest share of each situation's programs that must have a feature."""


@pytest.fixture(autouse=True, scope="module")
def compiled_regions() -> Iterator[None]:
    """Draw for a framework that compiles regions."""
    with alphabet.using(alphabet_of(TARGET, ("float64", "float32"))):
        yield


@cache
def drawn(name: str) -> tuple[tuple[Program, Observation], ...]:
    """Programs of a situation with their observations."""
    found = []

    @seed(20250130)
    @settings(
        max_examples=EACH, database=None, phases=[Phase.generate], deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=SITUATIONS[name]())
    def collect(case: Drawn) -> None:
        found.append((case.program, TARGET.observe(case.program)))

    collect()
    return tuple(found)


# -- what is counted ---------------------------------------------------------------------------------------------------


def features(program: Program, observation: Observation) -> Iterator[str]:
    """Names of the features of a program's regions."""
    found = [region for region in observed_regions(program, observation) if region.results]
    for region in found:
        yield from _in_memory(program, observation, region)
        yield from _inside(program, region)
        yield from _afterwards(program, region)
        yield from _in_calls(program, region)
    if sum(bool(_calls(program, region)) for region in found) > 1:
        yield "calls on several regions"
    for k, region in enumerate(found):
        for before in found[:k]:
            if canonical(program, region, FRAMEWORK.dialect) == canonical(program, before, FRAMEWORK.dialect):
                yield from _rerun(program, observation, before, region)


def _in_memory(program: Program, observation: Observation, region: Region) -> Iterator[str]:
    """Features of memory and shapes of a region's inputs and results."""
    values = observation[region.last].values
    inputs = [values[ref] for ref in region.inputs if ref in values]
    memories = [value.memory for value in inputs if value.memory is not None]
    results = [values[ref].memory for ref in region.results if ref in values and values[ref].memory is not None]
    if len({*memories}) < len(memories):
        yield "inputs in one memory"
    if {*memories} & {*results}:
        yield "result in an input's memory"
    if len({*results}) < len(results):
        yield "results in one memory"
    if len(inputs) > 1 and any(value.value.shape == () for value in inputs):
        yield "number among the inputs"
    if any(not value.value.size for value in inputs):
        yield "empty input"


def _inside(program: Program, region: Region) -> Iterator[str]:
    """Features of the instructions in a region."""
    modes = {region.inner(program, at) for at in region.steps}
    if len(modes) > 1:
        yield "several modes inside"
    if any(len(program.mode(at)) > 1 for at in region.steps):
        yield "modes inside modes"
    computed = Counter(program[at] for at in region.steps if isinstance(program[at], Apply))
    if any(number > 1 for number in computed.values()) and any(isinstance(program[at], InPlace) for at in region.steps):
        yield "the same computation again after a write"
    if any(isinstance(step := program[at], Apply) and step.op in RANDOM_OPS for at in region.steps):
        yield "random op inside"


def _afterwards(program: Program, region: Region) -> Iterator[str]:
    """Features of the instructions after a region that act on its inputs and results."""
    for step in program.instructions[region.last + 1 :]:
        match step:
            case InPlace(_, target):
                origins = {*_origins(program, target)}
                yield from ["result written after it"] if origins & {*region.results} else []
                yield from ["input or result written after it"] if origins & {*region.results, *region.inputs} else []
            case Step(leaves) if {*leaves} & {*region.inputs}:
                yield "input stepped after it"
            case SetRequiresGrad(target) if target in region.inputs:
                yield "input toggled after it"
            case Hook(target) | RetainGrad(target) if target in (*region.inputs, *region.results):
                yield "input or result hooked after it"


def _origins(program: Program, ref: Ref) -> Iterator[Ref]:
    """A value and the values that it may be a view of."""
    yield ref
    match program[ref.at]:
        case Apply(_, (source, *_)):
            yield from _origins(program, source)
        case step if (source := getattr(step, "source", None)) is not None:
            yield from _origins(program, source)


def _calls(program: Program, region: Region) -> list[tuple[Ref, bool | None]]:
    """The calls on a region's results, with their `retain_graph`."""
    calls = (step for step in program if isinstance(step, Backward))
    return [(root, call.retain_graph) for call in calls for root in call.roots if root in region.results]


def _in_calls(program: Program, region: Region) -> Iterator[str]:
    calls = _calls(program, region)
    if len({root for root, _ in calls}) > 1:
        yield "calls on several results"
    if len({*calls}) > len({root for root, _ in calls}):
        yield "two calls with different retain_graph"


def _rerun(program: Program, observation: Observation, before: Region, region: Region) -> Iterator[str]:
    """Features of a region that runs again."""
    yield "the same region again"
    if isinstance(observation[before.first].outcome, Raised):
        yield "the same region after an error"
        return
    if before.modes != region.modes:
        yield "again under another mode"
    if {retain for _, retain in _calls(program, before)} != {retain for _, retain in _calls(program, region)}:
        yield "again with different retain_graph"
    one, other = observation[before.last].values, observation[region.last].values
    pairs = [(one[a], other[b]) for a, b in zip(before.inputs, region.inputs, strict=True) if a in one and b in other]
    if any(a.requires_grad != b.requires_grad for a, b in pairs):
        yield "again with other flags"
    if any(a.value.shape != b.value.shape for a, b in pairs):
        yield "again in another shape"
    elif any(a.strides != b.strides for a, b in pairs):
        yield "again in another layout"


EXERCISED = {"inputs_given_out": 0.35, "computed_again": 0.2}
"""Smallest share of a situation's programs that must exercise its rule, if that is not a half. In the others a call may
raise, because a value that it needs was written to, and does.
"""

# -- tests -------------------------------------------------------------------------------------------------------------


def test_every_situation_has_a_test_and_a_floor() -> None:
    assert {f"test_{name}" for name in SITUATIONS} == TESTS.keys()
    assert SITUATIONS.keys() == FLOORS.keys()


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_situation_has_its_feature(name: str) -> None:
    counts = Counter(feature for case in drawn(name) for feature in {*features(*case)})
    print(f"\n{name}: {dict(counts)} of {len(drawn(name))}")
    assert len(drawn(name)) == EACH
    short = {feature: counts[feature] for feature, floor in FLOORS[name].items() if counts[feature] < floor * EACH}
    assert not short


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_situation_exercises_its_rule(name: str) -> None:
    rule = next(mark.args[0] for mark in TESTS[f"test_{name}"].pytestmark if mark.name == "rule")
    check = Check(TARGET, known=known("torch"))
    exercised = 0
    for program, _ in drawn(name):
        before = check.exercised[rule]
        check(program)
        exercised += check.exercised[rule] > before
    print(f"\n{rule}, {name}: {exercised} of {EACH} programs")
    assert exercised >= EXERCISED.get(name, 0.5) * EACH


@pytest.mark.parametrize("name", SITUATIONS)
def test_nothing_is_drawn_for_other_frameworks(name: str) -> None:
    @settings(max_examples=1, database=None)
    @given(case=SITUATIONS[name]())
    def draw(case: Drawn) -> None:
        raise AssertionError(case)

    with alphabet.using(alphabet.EVERYTHING), pytest.raises(Unsupported, match="compiles or recomputes regions"):
        draw()


# -- one node ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "make", "least"),
    [
        ("hooks/order", hooks.ordered_hooks, 20), ("hooks/removed", hooks.removed_hooks, 20),
        ("hooks/result", hooks.changing_hooks, 20), ("hooks/raise", hooks.raising_hooks, 20),
        ("hooks/shape", hooks.misshaping_hooks, 20), ("lifetime/traversed-only", lifetime.branches, 20),
        ("lifetime/independent", lifetime.independent_graphs, 20), ("writes/leaf-raises", writes.written_leaves, 6),
        ("writes/refused-keeps-values", writes.written_leaves, 6),
    ],
)  # fmt: skip
def test_rules_inside_a_graph_are_exercised_where_a_region_is_one_node(rule: str, make: Callable[[], Any], least: int):
    target = InProcess(TorchCompileAot())
    near = Pool(target.programs_each)
    check = Check(target, known("torch-compile-aot_eager"), rule, pool=near)

    @seed(2 if make is writes.written_leaves else 1)  # with 1 the first write is in a region, which later ones share
    @settings(
        max_examples=40, database=None, phases=[Phase.generate], deadline=None, backend=BACKEND,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=make())
    def run(case: Drawn) -> None:
        check(case)

    with alphabet.using(alphabet_of(target, ("float64",))), pool.using(near):
        run()
    assert check.exercised[rule] >= least, f"{check.exercised[rule]} of {check.programs}"


@pytest.mark.parametrize("make", [writes.written_unneeded, writes.written_unsaved, regions.unneeded_written])
def test_unneeded_writes_are_not_drawn_where_a_region_is_one_node(make: Callable[[], Any]):
    @settings(max_examples=1, database=None, phases=[Phase.generate], deadline=None)
    @given(case=make())
    def run(case: Drawn) -> None:
        assert case.program.instructions

    run()
    one_node = alphabet_of(InProcess(TorchCompileAot()), ("float64",))
    with alphabet.using(one_node), pytest.raises(Unsupported, match="one graph node"):
        run()
