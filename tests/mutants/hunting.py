"""The hunt: runs the suites' own tests on a member, in this process, until one of them fails.

It prepares the strategies as a session does, takes the tests of the rules that ought to name the
member first, and gives each as many programs as the quick profile would. What comes back is the shrunk failure.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import autograd_conformance.suites as suites
import hypothesis
import pytest
from autograd_conformance.harness.audit.programs import is_wrong
from autograd_conformance.harness.check import Broken, Check, broken_in
from autograd_conformance.harness.failures.reduce import reduced
from autograd_conformance.harness.known import known
from autograd_conformance.harness.session import Session
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.text import render
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.judge.violation import Violation
from autograd_conformance.rules.relations.relation import Related
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.alphabet import CORE
from autograd_conformance.strategies.building.draft import Undrawable
from autograd_conformance.strategies.higher_order import curvatures
from autograd_conformance.strategies.situations import gradients
from hypothesis import HealthCheck, Phase, given, settings

from tests.mutants.kit import Member

QUICK = 60
"""Programs per rule; each op by itself gets a tenth, and ten at least, as in the suites."""

MANY = 40
"""A test with more cases than that is left out: what it is about, others test, too."""

FIRST_OPS = 12
"""How many ops are tried by themselves where the audit finds none that is wrong."""

AUDITED = frozenset({"gradients/op", "gradients/forward"})
"""Rules that are about single ops, and that the audit of the ops finds broken."""

TORCH = known("torch")
"""What PyTorch, which every member is made of, is known to do otherwise."""


@dataclass(frozen=True, slots=True)
class Catch:
    """A member that was caught: by which rule and test, after how many programs, with what shrunk program."""

    test: str
    violation: Violation
    program: Program
    programs: int
    seconds: float
    flaky: bool = False

    @property
    def rule(self) -> str:
        """The rule that names the member."""
        return self.violation.rule

    @property
    def text(self) -> str:
        """The shrunk program."""
        return render(self.program)


@dataclass(frozen=True, slots=True)
class Probing:
    """The body of a test, and what it draws."""

    body: Callable[..., None]
    strategies: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Probe:
    """One of the suites' tests: the rule that it is about, and the body that draws, runs and judges."""

    rule: str
    name: str
    body: Callable[..., None]
    strategies: dict[str, Any]
    examples: int


@dataclass
class Counting(Check):
    """A check that remembers how many programs it took until the first that broke a rule."""

    until: int | None = None

    def __call__(self, program: Program | Related) -> None:
        try:
            super().__call__(program)
        except Broken:
            self.until = self.until or self.programs
            raise


@cache
def tests() -> dict[str, tuple[str, Probing]]:
    """Every test of the suites by its family and name, with the rule that it is about."""
    found = {}
    for module in pkgutil.iter_modules(suites.__path__):
        for name, test in vars(importlib.import_module(f"suites.{module.name}")).items():
            marks = {mark.name: mark for mark in getattr(test, "pytestmark", ())}
            if "rule" in marks and hasattr(test, "hypothesis"):
                for case, body in _bodies(test, marks.get("parametrize")):
                    found[f"{module.name.removeprefix('test_')}/{name}{case}"] = (marks["rule"].args[0], body)
    return found


def _bodies(test: Callable[..., None], each: pytest.Mark | None) -> Iterator[tuple[str, Probing]]:
    """A test's body, or those of its cases where they are few, if they need nothing but what is drawn, and a check."""
    inner, given = test.hypothesis.inner_test, test.hypothesis._given_kwargs  # type: ignore[attr-defined]
    left = set(inspect.signature(inner).parameters) - {"check", *given}
    if not left:
        yield "", Probing(inner, given)
    elif each is not None and left == {each.args[0]} and len(each.args[1]) <= MANY:
        for case in each.args[1]:
            yield f"[{case}]", Probing(functools.partial(inner, **{each.args[0]: case}), given)


def probes(first: tuple[str, ...], ops: tuple[str, ...], examples: int) -> Iterator[Probe]:
    """All tests as probes, those of the rules in `first` before the others; `ops` are tested by themselves."""
    order = {rule: place for place, rule in enumerate(first)}
    few = max(10, examples // 10)
    found = [Probe(rule, name, probing.body, probing.strategies, examples) for name, (rule, probing) in tests().items()]
    for op in ops:
        found.append(Probe("gradients/op", f"op[{op}]", _alone, {"program": gradients.single_ops(op)}, few))
        found.append(Probe("higher/op", f"twice[{op}]", _alone, {"program": curvatures(op)}, few))
        found.append(Probe("higher/op-third", f"thrice[{op}]", _alone, {"program": curvatures(op, 3)}, few))
    yield from sorted(found, key=lambda probe: order.get(probe.rule, len(order)))


def _alone(check: Check, program: Program) -> None:
    check(program)


def hunt(member: type[Member], examples: int = QUICK, seed: int = 0) -> Catch | None:
    """The first failure of the suites' tests on `member`, shrunk; None where it is not caught."""
    started, before = time.perf_counter(), 0
    in_use = alphabet.current()
    with tempfile.TemporaryDirectory() as folder:
        session = prepared(member, Path(folder))
        by_itself = ("gradients/op",) * ("gradients/forward" in member.caught_by)
        first = tuple(dict.fromkeys(by_itself + member.caught_by))
        try:
            for probe in probes(first, tuple(sorted(session.broken)) or CORE[:FIRST_OPS], examples):
                if not RULES[probe.rule].needs <= session.claims:
                    continue
                check = Counting(session.framework, session.claims, known=TORCH)
                found = failure(probe, check, seed)
                if found:
                    caught, flaky = found
                    until = before + (check.until or check.programs)
                    seconds = time.perf_counter() - started
                    return Catch(probe.name, caught.violation, caught.program, until, seconds, flaky)
                before += check.programs
        finally:
            alphabet.use(in_use)
    return None


def prepared(member: type[Member], folder: Path) -> Session:
    """A session whose alphabet is in use: the member's, less the ops that the audit finds wrong.

    Only members that lie about single ops are audited, and the usual ops alone: what holds of all others is what holds
    of PyTorch.
    """
    session = Session(f"{member.__module__}:{member.__name__}", folder, wrong=frozenset())
    if AUDITED.intersection(member.caught_by):
        session.use_all_ops()
        asked = session.framework, session.claims, session.drawable
        session.wrong = frozenset(op for op in CORE if is_wrong(op, *asked))
    session.prepare()
    return session


def failure(
    probe: Probe, check: Check, seed: int, phases: Sequence[Phase] = (Phase.generate, Phase.shrink)
) -> tuple[Broken, bool] | None:
    """How a probe fails, shrunk, and whether it does so every time; None where it passes."""

    @hypothesis.seed(seed)
    @settings(
        max_examples=probe.examples, deadline=None, database=None, report_multiple_bugs=False, print_blob=False,
        phases=phases, suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(**probe.strategies)
    def run(**drawn: Any) -> None:
        probe.body(check, **drawn)

    try:
        run()
    except Undrawable:  # the op that the test needs is wrong by itself
        return None
    except (Broken, BaseExceptionGroup) as error:
        broken = broken_in(error)
        if broken is None:
            raise
        return reduced(broken, check.known), isinstance(error, hypothesis.errors.Flaky)
    return None
