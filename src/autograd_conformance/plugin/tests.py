"""Orders the tests of a run, decides which apply to the framework and how many programs each requests, and gives each
test its check.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from inspect import signature
from typing import Any

import pytest
from hypothesis.errors import Unsatisfiable

from autograd_conformance.checking.budget import BoundedCheck, Budget, Demand, Spent
from autograd_conformance.checking.check import Check, RuleViolated
from autograd_conformance.checking.limits import UNLIMITED
from autograd_conformance.checking.session import FrameworkUnderTest, Session
from autograd_conformance.checking.skips import NotApplicable, NothingDrawn
from autograd_conformance.failures.interrupted import pending
from autograd_conformance.failures.interrupted.unsent import unsent
from autograd_conformance.failures.record import unexplained
from autograd_conformance.ops.tables import OPS
from autograd_conformance.package.places import SUITES
from autograd_conformance.plugin.run_plan import Plan, functions
from autograd_conformance.plugin.state import (
    BUDGET,
    CHECK,
    COLLECTED,
    LEFT_OUT,
    LIMITS,
    NUMBER,
    PLANNED,
    SESSION,
    about,
    audited,
)
from autograd_conformance.processes.journal import Journal
from autograd_conformance.reporting.analysis.verdicts import THRESHOLD
from autograd_conformance.reporting.records import records
from autograd_conformance.rules.catalogue import RULES, Level, Rule
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.randomness import pool
from autograd_conformance.strategies.building.randomness.hypothesis_internals import examples_of
from autograd_conformance.strategies.building.unsupported import Unsupported, UnsupportedOp

UNDRAWN = 20
"""Approximate number of programs that a test runs if Hypothesis draws none for it."""

MANY = frozenset(("op", "write"))
"""Names of the fixtures by which pytest repeats a test for each op or write."""

BEGUN = 5
"""Number of programs that come first in the budget for a test that has no verdict or draws no programs, unless
compiling is expensive.
"""

CORPUS = SUITES / "test_corpus.py"
"""The file of the tests that each run one program of the corpus, programs that once found a violation."""


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    for item in items[:1]:
        item.config.stash[LEFT_OUT] = item.config.stash.get(LEFT_OUT, 0) + len(items)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Counts the suites' tests before any is deselected."""
    item.config.stash[COLLECTED] = item.config.stash.get(COLLECTED, 0) + (item.path.parent == SUITES)


def _is_whole(config: pytest.Config, items: Sequence[pytest.Item]) -> bool:
    """Returns whether the collected tests are all tests of the suites: none was selected by name, no file or function
    is missing, and none was deselected, whether or not that was reported to pytest.
    """
    named = any("::" in arg for arg in config.args)
    there = {(item.path.name, getattr(item, "originalname", item.name)) for item in items}
    return not named and len(items) == config.stash.get(COLLECTED, 0) and there == functions()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sorts the tests: those of the corpus come first, so that programs that once found a violation run before drawn
    ones.

    If compiling is expensive, the last tests are those of rules about two programs, then those without a verdict, and
    then those of each op or write. These are many, and a run that ends early should have tried every rule.
    """
    session = items[0].config.stash.get(SESSION, None) if items else None
    costly = session is not None and session.framework.target.programs_each > 0

    def turn(item: pytest.Item) -> tuple[bool, ...]:
        return item.path != CORPUS, *(is_late(item) for is_late in (_is_many, _is_advice, _is_relation) if costly)

    items.sort(key=turn)


def pytest_collection_finish(session: pytest.Session) -> None:
    config = session.config
    if SESSION not in config.stash:
        return
    ours = [item for item in session.items if item.get_closest_marker("rule")]
    left_out, whole = config.stash.get(LEFT_OUT, 0), _is_whole(config, ours)
    plan = Plan.of((about(item)[0] for item in ours), left_out, whole)
    target = config.stash[SESSION].framework.target
    framework = records.Framework(target.name, target.version, (), 0, ())
    for number, item in enumerate(ours):
        rule, op = about(item)
        item.stash[NUMBER], item.stash[PLANNED] = number, plan
        named = {"rule": rule, "op": op, "seed": config.option.hypothesis_seed, "framework": framework.title}
        item.user_properties += [(name, value) for name, value in named.items() if value is not None]
    limits = config.stash.get(LIMITS, UNLIMITED)
    if limits.limited and ours:
        audited(config)
        run = config.stash[SESSION].framework
        alike = Counter(_group(item) for item in ours if _programs(item, run))
        demands = [_demand(item, run, alike[_group(item)]) for item in ours]
        processes = getattr(config, "workerinput", {}).get("workercount", 1)
        config.stash[BUDGET] = Budget(config.stash[LIMITS], processes, demands)


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
        or (op is not None and op not in framework.target.ops)
    ):
        return 0.0
    if item.path == CORPUS:
        return 1.0
    examples = examples_of(getattr(item, "obj", None))
    return float(UNDRAWN if examples is None else examples)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "op" in metafunc.fixturenames and metafunc.definition.get_closest_marker("rule"):
        metafunc.parametrize("op", list(OPS))


@pytest.fixture(scope="session")
def prepared(pytestconfig: pytest.Config) -> FrameworkUnderTest:
    """The framework under test, after each op was checked alone, in a process that is ready to draw and run
    programs.
    """
    framework = pytestconfig.stash[SESSION].framework
    audited(pytestconfig)
    framework.prepare()
    return framework


@pytest.fixture(scope="session")
def journal(pytestconfig: pytest.Config, prepared: FrameworkUnderTest) -> Iterator[Journal]:
    """The journal of this process, a file with the running program; a process that ends regularly removes it."""
    settings = prepared.settings
    own = Journal(settings.folder, settings.worker, settings.watchdog)
    with pytestconfig.stash[SESSION].process.journaled(own):
        yield own
        own.close()


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Any:
    """Skips a test as not applicable if the framework lacks something that its programs need. If only a drawn part
    needed a missing op, the test runs again without such parts.
    """
    try:
        return (yield)
    except UnsupportedOp as error:
        return _retry(pyfuncitem, error)
    except Unsupported as error:
        raise NotApplicable(str(error)) from None
    except Unsatisfiable:
        drawable = alphabet.current()
        if not drawable.needs_retries:
            raise
        if drawable.absent_forms:
            absent = ", ".join(sorted(drawable.absent_forms))
            raise NotApplicable(f"needs leaves of unsupported forms: {absent}") from None
        raise NothingDrawn(_why_nothing_fits(drawable)) from None


def _why_nothing_fits(drawable: alphabet.Alphabet) -> str:
    """Returns a text that says why no program can be drawn for a framework with few ops, or with few forms of
    its ops.
    """
    if drawable.one_element:
        return "needs tensors with several elements, and a call from such a root"
    no_sum = "needs a working `sum`"
    return no_sum if "sum" not in drawable.ops else "the ops of the framework allow no such program"


def _retry(item: pytest.Function, error: UnsupportedOp) -> bool:
    """Runs a test again, without drawing what needs a missing op. Raises `NothingDrawn` if that is impossible."""
    given = {name: item.funcargs[name] for name in signature(item.obj).parameters}
    try:
        with alphabet.using(alphabet.current().retrying()):
            item.obj(**given)
    except (Unsatisfiable, Unsupported):
        raise NothingDrawn(str(error)) from None
    return True


@pytest.fixture
def check(request: pytest.FixtureRequest, prepared: FrameworkUnderTest, journal: Journal) -> Iterator[Check]:
    """The check that a test calls with each program. Skips the test if the user's list says so, or if the framework
    does not claim something that the rule needs.
    """
    rule, op = about(request.node)
    skipped = prepared.settings.skips.reason(rule, op)
    if skipped is not None:
        pytest.skip(skipped)
    missing = prepared.missing(rule)
    if missing:
        raise NotApplicable(f"not claimed: {'; '.join(missing)}")
    absent = prepared.absent(rule)
    if absent:
        raise NotApplicable(f"needs {', '.join(absent)}")
    if op is not None and op not in prepared.target.ops:
        whose = f"the device {prepared.settings.device}" if op in prepared.audited.missing else prepared.target.name
        raise NotApplicable(f"{whose} has no {op}")
    request.node.stash[CHECK] = check = _check(request, prepared, rule)
    check.on_violation = partial(_keep, request.node.nodeid, rule, op, check, request.config.stash[SESSION])
    journal.begin(request.node.nodeid, rule, op)
    with pool.using(check.pool):
        yield check
    del request.node.stash[CHECK]  # pytest keeps each test until the end of the run
    journal.end()
    if BUDGET in request.config.stash:
        seconds = check.first_seconds if isinstance(check, BoundedCheck) else 0.0
        request.config.stash[BUDGET].used(request.node.stash[NUMBER], check.programs, seconds)


def _keep(test: str, rule: str, op: str | None, check: Check, session: Session, broken: RuleViolated) -> None:
    """Writes a violation to a file in the report's folder before Hypothesis shrinks its program, in case the process
    dies. An error here does not affect the test.
    """
    with suppress(Exception):
        failure = unexplained(broken, test, session)
        settings = session.settings
        pending.save(settings.folder, settings.worker, failure, unsent(test, rule, op, check, failure.verdict))


def _check(request: pytest.FixtureRequest, framework: FrameworkUnderTest, rule: str) -> Check:
    """Returns the check for a test, which ends at the test's share of the budget if the run has one."""
    check = framework.check(rule)
    if BUDGET not in request.config.stash:
        return check
    budget, number = request.config.stash[BUDGET], request.node.stash[NUMBER]
    bounded = BoundedCheck.of(check, budget.share(number), budget.demands[number].first)
    if bounded.share.spent(0, tested=False):
        bounded.cut = True
        request.node.stash[CHECK] = bounded
        raise Spent("the budget ended before the test began")
    return bounded
