"""Killing a mutant: runs the suites' own tests on it, in this process, until one of them fails.

The strategies are prepared as in an ordinary session. The tests of the rules in `killed_by` run first, each with as
many programs as in the quick profile. The result is the shrunk failure.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings

from autograd_conformance.checking.audit import cancellation, elements, kinks, tails
from autograd_conformance.checking.audit.outcome import AuditResult
from autograd_conformance.checking.audit.programs import fault_of
from autograd_conformance.checking.check import Check, RuleViolated, violation_in
from autograd_conformance.checking.seeding import BACKEND
from autograd_conformance.checking.session import FrameworkUnderTest, Settings
from autograd_conformance.failures.case import Case
from autograd_conformance.failures.reduce import reduced
from autograd_conformance.known_differences import known
from autograd_conformance.programs.formats.text import render
from autograd_conformance.programs.hazards import Hazard
from autograd_conformance.programs.language import Program
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.relations.relation import Related
from autograd_conformance.rules.violations.violation import Violation
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.alphabet import CORE
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.building.unsupported import Unsupported
from evaluation.mutants.mutant import Faulty
from evaluation.mutants.probes import QUICK, Probe, probes

FIRST_OPS = 12
"""Number of ops that are tested one by one if the audit finds no faulty op."""

AUDITED = frozenset({"gradients/op", "gradients/forward"})
"""Rules about single ops, whose violations the audit of the ops finds."""

TORCH = known("torch", device="cpu")
"""Known differences of PyTorch, which most mutants change."""


@dataclass(frozen=True, slots=True)
class Kill:
    """The failure that killed a mutant."""

    test: str
    """The test that failed, as family/name."""
    violation: Violation
    program: Program
    """The shrunk program; the first one of a related pair."""
    programs: int
    """Number of programs that ran, including the first that failed."""
    seconds: float
    flaky: bool = False
    """True if the program did not fail every time."""

    @property
    def rule(self) -> str:
        """The rule that was reported."""
        return self.violation.rule

    @property
    def text(self) -> str:
        """The shrunk program in the suite's notation."""
        return render(self.program)


SMALL = {
    "gradients/tails": lambda: tails.FUNCTIONS,
    "gradients/elements": elements.functions,
    "gradients/kinks": kinks.functions,
    "gradients/cancellation": cancellation.functions,
}
"""For each rule that some ops are tested by, these ops."""


@dataclass
class Counting(Check):
    """A check that counts the programs up to the first that violates a rule."""

    first_failing: int | None = None

    def __call__(self, case: Program | Drawn | Related) -> None:
        try:
            super().__call__(case)
        except RuleViolated:
            self.first_failing = self.first_failing or self.programs
            raise


def kill(mutant: type[Faulty], examples: int = QUICK, seed: int = 0) -> Kill | None:
    """The first failure of the suites' tests on a mutant, shrunk; None if it survives."""
    started, before = time.perf_counter(), 0
    with alphabet.using(alphabet.current()):
        framework = prepared(mutant)
        op_first = ("gradients/op",) * ("gradients/forward" in mutant.killed_by)
        first = tuple(dict.fromkeys(op_first + mutant.killed_by))
        usual = next((ops() for rule, ops in SMALL.items() if rule in mutant.killed_by), CORE[:FIRST_OPS])
        for probe in probes(first, tuple(sorted(framework.faulty_ops)) or usual, examples):
            if not RULES[probe.rule].needs <= framework.target.capabilities:
                continue
            check = Counting(framework.target, known=known(mutant.framework, device="cpu"))
            found = failure(probe, check, seed)
            if found:
                broken, flaky = found
                programs = before + (check.first_failing or check.programs)
                seconds = time.perf_counter() - started
                return Kill(probe.name, broken.violation, broken.program, programs, seconds, flaky)
            before += check.programs
    return None


def prepared(mutant: type[Faulty]) -> FrameworkUnderTest:
    """The mutant as the framework under test. Strategies draw from its ops without those that the audit finds faulty.

    The audit runs only for mutants whose fault is in single ops, and only on the core ops; all other ops behave as in
    PyTorch.
    """
    framework = FrameworkUnderTest(Settings(f"{mutant.__module__}:{mutant.__name__}"))
    if AUDITED.intersection(mutant.killed_by):
        alphabet.use(framework.alphabet)
        wrong = (op for op in CORE if fault_of(op, framework.target, framework.drawable) is not None)
        framework.adopt_audit(AuditResult(wrong=frozenset(wrong)))
    framework.prepare()
    alphabet.use(replace(alphabet.current(), spared=frozenset(Hazard)))  # those of PyTorch, of which they are variants
    return framework


def failure(
    probe: Probe, check: Check, seed: int, phases: Sequence[Phase] = (Phase.generate, Phase.shrink)
) -> tuple[Case, bool] | None:
    """The shrunk failure of a probe, and whether it is flaky; None if the probe passes."""

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
    except (Exception, BaseExceptionGroup) as error:
        broken = violation_in(error) or check.shortest  # shrinking may end with an error of Hypothesis' own
        if broken is None:
            raise
        return reduced(Case.of(broken), check.known), isinstance(error, hypothesis.errors.Flaky)
    return None
