"""Killing a mutant: runs the suites' own tests on it, in this process, until one of them fails.

The strategies are prepared as a session prepares them; the tests of the rules that ought to name the mutant come first,
and each gets as many programs as the quick profile would. What comes back is the shrunk failure.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings

from autograd_conformance.checking.audit.outcome import AuditResult
from autograd_conformance.checking.audit.programs import fault_of
from autograd_conformance.checking.check import Check, RuleViolated, violation_in
from autograd_conformance.checking.seeding import BACKEND
from autograd_conformance.checking.session import Session
from autograd_conformance.checking.support.alphabet import alphabet_of
from autograd_conformance.failures.reduce import reduced
from autograd_conformance.known_differences import known
from autograd_conformance.programs.formats.text import render
from autograd_conformance.programs.language import Program
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.relations.relation import Related
from autograd_conformance.rules.violations.violation import Violation
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.alphabet import CORE
from autograd_conformance.strategies.building.draft import Unsupported
from autograd_conformance.strategies.building.drawn import Drawn
from evaluation.mutants.mutant import Mutant
from evaluation.mutants.probes import QUICK, Probe, probes

FIRST_OPS = 12
"""How many ops are tried by themselves where the audit finds none that is wrong."""

AUDITED = frozenset({"gradients/op", "gradients/forward"})
"""Rules that are about single ops, and that the audit of the ops finds broken."""

TORCH = known("torch")
"""What PyTorch, which most mutants are made of, is known to do otherwise."""


@dataclass(frozen=True, slots=True)
class Kill:
    """The failure that killed a mutant."""

    test: str
    """The test that failed, by its family and name."""
    violation: Violation
    program: Program
    """The shrunk program; of two related ones the first."""
    programs: int
    """How many programs were run, up to and with the first that failed."""
    seconds: float
    flaky: bool = False
    """Whether the program did not fail every time."""

    @property
    def rule(self) -> str:
        """The rule that names the mutant."""
        return self.violation.rule

    @property
    def text(self) -> str:
        """The shrunk program in the notation."""
        return render(self.program)


@dataclass
class Counting(Check):
    """A check that remembers how many programs it took until the first that broke a rule."""

    first_failing: int | None = None

    def __call__(self, case: Program | Drawn | Related) -> None:
        try:
            super().__call__(case)
        except RuleViolated:
            self.first_failing = self.first_failing or self.programs
            raise


def kill(mutant: type[Mutant], examples: int = QUICK, seed: int = 0) -> Kill | None:
    """The first failure of the suites' tests on `mutant`, shrunk; None where it survives."""
    started, before = time.perf_counter(), 0
    with alphabet.using(alphabet.current()), tempfile.TemporaryDirectory() as folder:
        session = prepared(mutant, Path(folder))
        op_first = ("gradients/op",) * ("gradients/forward" in mutant.killed_by)
        first = tuple(dict.fromkeys(op_first + mutant.killed_by))
        for probe in probes(first, tuple(sorted(session.faulty_ops)) or CORE[:FIRST_OPS], examples):
            if not RULES[probe.rule].needs <= session.target.capabilities:
                continue
            check = Counting(session.target, known=known(mutant.framework))
            found = failure(probe, check, seed)
            if found:
                broken, flaky = found
                programs = before + (check.first_failing or check.programs)
                seconds = time.perf_counter() - started
                return Kill(probe.name, broken.violation, broken.program, programs, seconds, flaky)
            before += check.programs
    return None


def prepared(mutant: type[Mutant], folder: Path) -> Session:
    """A session whose alphabet is in use: the mutant's, less the ops that the audit finds wrong.

    Only mutants whose fault is in single ops are audited, and the usual ops alone: what holds of all others is what
    holds of PyTorch.
    """
    session = Session(f"{mutant.__module__}:{mutant.__name__}", folder)
    if AUDITED.intersection(mutant.killed_by):
        alphabet.use(alphabet_of(session.target, session.drawable))
        wrong = (op for op in CORE if fault_of(op, session.target, session.drawable) is not None)
        session.audited = AuditResult(wrong=frozenset(wrong))
    session.prepare()
    return session


def failure(
    probe: Probe, check: Check, seed: int, phases: Sequence[Phase] = (Phase.generate, Phase.shrink)
) -> tuple[RuleViolated, bool] | None:
    """How a probe fails, shrunk, and whether it does so every time; None where it passes."""

    @hypothesis.seed(seed)
    @settings(
        max_examples=probe.examples, backend=BACKEND, deadline=None, database=None, report_multiple_bugs=False,
        print_blob=False, phases=phases, suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(**probe.strategies)
    def run(**drawn: Any) -> None:
        probe.body(check, **drawn)

    try:
        run()
    except Unsupported:  # the op that the test needs is wrong by itself
        return None
    except (RuleViolated, BaseExceptionGroup) as error:
        broken = violation_in(error)
        if broken is None:
            raise
        return reduced(broken, check.known), isinstance(error, hypothesis.errors.Flaky)
    return None
