"""The order of the tests of a run, and how many programs each requests from the run's budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from autograd_conformance.checking.budget import Demand
from autograd_conformance.checking.session import FrameworkUnderTest
from autograd_conformance.package.places import SUITES
from autograd_conformance.plugin.gates import gated
from autograd_conformance.plugin.stash import SESSION
from autograd_conformance.plugin.state import about
from autograd_conformance.reporting.analysis.verdicts import THRESHOLD
from autograd_conformance.rules.catalogue import RULES, Level, Rule
from autograd_conformance.rules.stages import NUMBER, place_in_stage, stage_of_test
from autograd_conformance.strategies.building.randomness.hypothesis_internals import examples_of

UNDRAWN = 20
"""Approximate number of programs that a test runs if Hypothesis draws none for it."""

MANY = frozenset(("op", "write"))
"""Names of the fixtures by which pytest repeats a test for each op or write."""

BEGUN = 5
"""Number of programs that come first in the budget for a test that has no verdict or draws no programs, unless
compiling is expensive.
"""

LEFTOVER = 1e-6
"""Weight of the stage of articles in a budget, so that it has only what the other stages leave; theirs is 1."""

CORPUS = SUITES / "test_corpus.py"
"""The file of the tests that each run one program of the corpus, programs that once found a violation."""


def turn(item: pytest.Item) -> tuple[tuple[bool, ...], int, bool, int]:
    """Returns the key by which a test is sorted: whether it is late, its stage, whether it draws programs, and the
    family of its rule in the stage. So a stage begins with its own family, whose programs are the shortest.
    """
    session = item.config.stash.get(SESSION, None)
    costly = session is not None and session.framework.target.programs_each > 0 and item.path != CORPUS
    late = tuple(is_late(item) for is_late in (_is_many, _is_advice, _is_relation)) if costly else ()
    return late or (False,) * 3, _stage_number(item), item.path != CORPUS, _family_number(item)


def _stage_number(item: pytest.Item) -> int:
    """Returns the position of a test's stage; -1 for a test that is not the suite's."""
    return -1 if item.get_closest_marker("rule") is None else NUMBER[stage_name(item)]


def _family_number(item: pytest.Item) -> int:
    """Returns the position of the family of a test's rule in the test's stage; 0 if the stage lists another one."""
    return place_in_stage(about(item)[0]) if item.get_closest_marker("rule") else 0


def stage_name(item: pytest.Item) -> str:
    """Returns the name of a test's stage."""
    return stage_of_test(about(item)[0], item.path.stem.removeprefix("test_")).name


def demands_of(items: Sequence[pytest.Item], framework: FrameworkUnderTest) -> list[Demand]:
    """Returns the demands of the tests of a run. Beyond its first programs, each stage has the same part of the budget,
    each rule of a stage the same part of the stage's, and each test a part in proportion to its number of programs.
    Articles, which have no verdict, have what the others leave.
    """
    alike = Counter(_group(item) for item in items if _programs(item, framework))
    demands = [_demand(item, framework, alike[_group(item)]) for item in items]
    stages = [_stage_number(item) for item in items]
    rules = [(stage, about(item)[0]) for stage, item in zip(stages, items, strict=True)]
    programs: Counter[tuple[int, str]] = Counter()
    for rule, demand in zip(rules, demands, strict=True):
        programs[rule] += demand.programs  # type: ignore[assignment]
    active = Counter(stage for (stage, _), number in programs.items() if number)
    return [
        replace(demand, weight=_weight(stage, demand.programs, programs[rule], active[stage]), stage=stage)
        for stage, rule, demand in zip(stages, rules, demands, strict=True)
    ]


def _weight(stage: int, programs: float, of_rule: float, rules: int) -> float:
    """Returns the weight of a test in a stage with a number of `rules`. `of_rule` is the number of programs of all
    tests of its rule in the stage.
    """
    if not programs:
        return 0.0
    of_stage = LEFTOVER if stage == NUMBER["articles"] else 1.0
    return of_stage * programs / of_rule / rules


def _group(item: pytest.Item) -> tuple[str, bool, bool]:
    """Returns the key of a group of tests that test one rule in the same way: with programs of the corpus, for each op,
    or otherwise.
    """
    return about(item)[0], item.path == CORPUS, _is_many(item)


def _demand(item: pytest.Item, framework: FrameworkUnderTest, alike: int) -> Demand:
    """Returns the number of programs that a test requests, and how many of these come first.

    The first programs are those that the rule needs to count as tested: one if there is a test for each op, and a few
    if there is no verdict. If compiling is expensive, so are programs: the `alike` tests of a group share the programs
    that the rule needs, since the audit has tried each op already, and tests without a verdict get none first.
    """
    programs, costly = _programs(item, framework), framework.target.programs_each > 0
    drawn = examples_of(getattr(item, "obj", None)) is not None
    if _is_advice(item):
        first: float = 0 if costly else BEGUN
    elif costly:
        first = THRESHOLD / max(1, alike)
    elif _is_many(item):
        first = 1
    else:
        first = THRESHOLD if drawn else BEGUN
    return Demand(programs, min(programs, first))


def _is_many(item: pytest.Item) -> bool:
    """Returns whether a test exists once for each op or write."""
    return not MANY.isdisjoint(getattr(item, "fixturenames", ()))


def _is_advice(item: pytest.Item) -> bool:
    """Returns whether the rule of a test is an INFO rule, which has no verdict."""
    rule = _rule(item)
    return rule is not None and rule.level is Level.INFO


def _is_relation(item: pytest.Item) -> bool:
    """Returns whether the rule of a test compares two programs."""
    rule = _rule(item)
    return rule is not None and rule.family == "relations"


def _rule(item: pytest.Item) -> Rule | None:
    """Returns the rule of a test; None for a test that is not the suite's."""
    return RULES[about(item)[0]] if item.get_closest_marker("rule") else None


def _programs(item: pytest.Item, framework: FrameworkUnderTest) -> float:
    """Returns the number of programs that a test is about to run: 0 if the test does not apply, 1 for a program of the
    corpus, `UNDRAWN` if Hypothesis draws none for the test, else the number that Hypothesis is to draw.
    """
    rule, op = about(item)
    if (
        framework.settings.skips.reason(rule, op)
        or framework.missing(rule)
        or gated(item.config).reason(stage_name(item))
        or (op is not None and op not in framework.target.ops)
    ):
        return 0.0
    if item.path == CORPUS:
        return 1.0
    examples = examples_of(getattr(item, "obj", None))
    return float(UNDRAWN if examples is None else examples)
