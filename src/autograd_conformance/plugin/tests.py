"""Collects the tests of a run in their order, and gives each test its check, or skips it if it does not apply to the
framework.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from inspect import signature
from typing import Any

import pytest
from hypothesis.errors import Unsatisfiable

from autograd_conformance.checking.budget import BoundedCheck, Budget, CutTest, Spent
from autograd_conformance.checking.check import Check, RuleViolated
from autograd_conformance.checking.limits import UNLIMITED
from autograd_conformance.checking.session import FrameworkUnderTest, Session
from autograd_conformance.checking.skips import NotApplicable, NothingDrawn, WaitsForStage
from autograd_conformance.failures.counted import is_explained, is_repeated
from autograd_conformance.failures.interrupted import pending
from autograd_conformance.failures.interrupted.unsent import unsent
from autograd_conformance.failures.record import unexplained
from autograd_conformance.ops.tables import OPS
from autograd_conformance.package.places import SUITES
from autograd_conformance.plugin.demands import demands_of, stage_name, turn
from autograd_conformance.plugin.gates import gated
from autograd_conformance.plugin.run_plan import Plan, functions
from autograd_conformance.plugin.selection import is_named
from autograd_conformance.plugin.stash import (
    BUDGET,
    CHECK,
    COLLECTED,
    CUT,
    LEFT_OUT,
    LIMITS,
    NUMBER,
    PLANNED,
    SESSION,
    SHARE,
)
from autograd_conformance.plugin.state import about, audited
from autograd_conformance.processes.journal import Journal
from autograd_conformance.programs import slugs
from autograd_conformance.reporting.records import records
from autograd_conformance.rules.stages import stage_of
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.randomness import pool
from autograd_conformance.strategies.building.unsupported import Unsupported, UnsupportedOp


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
    there = {(item.path.name, getattr(item, "originalname", item.name)) for item in items}
    return not is_named(config.args) and len(items) == config.stash.get(COLLECTED, 0) and there == functions()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sorts the tests by stages, from forward values to sequences. In a stage, programs that once found a violation, of
    the corpus, run before drawn ones.

    If compiling is expensive, the last tests are those of rules about two programs, then those without a verdict, and
    then those of each op or write. These are many, and a run that ends early should have tried every rule.
    """
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
        demands = demands_of(ours, run)
        processes = getattr(config, "workerinput", {}).get("workercount", 1)
        config.stash[BUDGET] = Budget(config.stash[LIMITS], processes, demands)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    own = any(marker.args[0] == "op" for marker in metafunc.definition.iter_markers("parametrize"))
    if "op" in metafunc.fixturenames and not own and metafunc.definition.get_closest_marker("rule"):
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
    needed a missing op, the test runs again without such parts. If the test ends early after a failure, it fails.
    """
    with _violation_kept(pyfuncitem):
        made = yield from _applicable(pyfuncitem)
        _raise_repeated(pyfuncitem)
        return made


@contextmanager
def _violation_kept(item: pytest.Function) -> Iterator[None]:
    """Raises the violation that a test found before it ended early."""
    try:
        yield
    except Spent:
        check = item.stash.get(CHECK, None)
        if check is None or check.shortest is None:
            _raise_repeated(item)
            raise
        raise check.shortest from None


def _raise_repeated(item: pytest.Item) -> None:
    """Raises a violation of the test's own rule or op that did not end the test, as a failure with its cause was
    recorded. The test has found no other.
    """
    check = item.stash.get(CHECK, None)
    if check is None or not check.repeated:
        return
    rule, op = about(item)
    for broken in check.repeated:
        if broken.violation.rule == rule or (op is not None and broken.violation.op == op):
            raise broken


def _applicable(item: pytest.Function) -> Generator[None, Any, Any]:
    """Runs a test, again without some drawn parts if only these needed a missing op. Raises `NotApplicable` or
    `NothingDrawn` if the framework lacks something that the test needs.
    """
    try:
        return (yield)
    except UnsupportedOp as error:
        return _retry(item, error)
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
    """Runs a test again, without drawing what needs a missing op. If that is impossible, raises `NotApplicable`, or
    `NothingDrawn` if the framework has such an op, which breaks a rule.
    """
    given = {name: item.funcargs[name] for name in signature(item.obj).parameters}
    try:
        with alphabet.using(alphabet.current().retrying()):
            item.obj(**given)
    except (Unsatisfiable, Unsupported):
        raise (NotApplicable if error.is_missing else NothingDrawn)(str(error)) from None
    return True


@pytest.fixture
def check(request: pytest.FixtureRequest, prepared: FrameworkUnderTest, journal: Journal) -> Iterator[Check]:
    """The check that a test calls with each program. Skips the test if the user's list says so, if the framework does
    not claim something that the rule needs, or if the test's stage waits.
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
    waits = gated(request.config).reason(stage_name(request.node))
    if waits is not None:
        raise WaitsForStage(waits)
    request.node.stash[CHECK] = check = _check(request, prepared, rule)
    session = request.config.stash[SESSION]
    check.on_violation = partial(_end_or_shrink, request.node.nodeid, rule, op, check, session)
    check.is_repeated = partial(is_repeated, session)
    journal.begin(request.node.nodeid, rule, op)
    with pool.using(check.pool):
        yield check
    del request.node.stash[CHECK]  # pytest keeps each test until the end of the run
    _note_cut(request.node, check)
    journal.end()
    if BUDGET in request.config.stash:
        seconds = check.first_seconds if isinstance(check, BoundedCheck) else 0.0
        request.config.stash[BUDGET].used(request.node.stash[NUMBER], check.programs, seconds)


def _end_or_shrink(test: str, rule: str, op: str | None, check: Check, session: Session, broken: RuleViolated) -> None:
    """Keeps a violation in a file. Raises `Spent`, so that Hypothesis does not shrink the violation's program, if this
    process has explained one with the same cause: the test fails with the program in which the violation was found.
    """
    _keep(test, rule, op, check, session, broken)
    if is_explained(broken, session, "fail"):
        raise Spent("a failure with the same cause was explained")


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
    if rule == slugs.GRADIENTS_FORWARD:  # no call could work if the stage of first gradients waits
        check.only_values = gated(request.config).reason(stage_of(slugs.GRADIENTS_GRAPH).name) is not None
    if BUDGET not in request.config.stash:
        return check
    budget, number = request.config.stash[BUDGET], request.node.stash[NUMBER]
    share = request.node.stash.get(SHARE, None) or budget.share(number)
    bounded = BoundedCheck.of(check, share, budget.demands[number].first)
    if bounded.share.spent(0, tested=False):
        bounded.cut = True
        request.node.stash[CHECK] = bounded
        _note_cut(request.node, bounded)
        raise Spent("the budget ended before the test began")
    return bounded


def _note_cut(item: pytest.Item, check: Check) -> None:
    """Notes that a test may run again, if the budget cut it short and it has found nothing."""
    cut = item.config.stash.setdefault(CUT, {})
    cut.pop(item, None)
    if isinstance(check, BoundedCheck) and check.cut and check.shortest is None and not check.repeated:
        exercised = 0 if check.rule is None else check.exercised[check.rule]
        cut[item] = CutTest(exercised, check.programs, time.monotonic() - check.began)
