"""The programs of a whole run of an engine, drawn once and without those that the engine itself fails."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from autograd_conformance.checking.audit import programs as audit
from autograd_conformance.checking.audit.joining import to_run_alone
from autograd_conformance.checking.audit.outcome import AuditResult
from autograd_conformance.checking.check import Check, RuleViolated
from autograd_conformance.checking.session import FrameworkUnderTest, Settings
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.known_differences.file import shipped
from autograd_conformance.programs.language import Program
from autograd_conformance.strategies.building import alphabet
from evaluation.engines.child import Late, stopped_after
from evaluation.fresh.recorded import Case, Test, broken_by, check_of, drawn_by
from evaluation.mutants.probes import probes

HANGS = "hang"
"""The finding of a program that does not come back."""

PATIENCE = 10.0
"""Seconds after which a program counts as one that does not come back. The usual program takes milliseconds."""

BREAKS_WITHOUT_VERDICT = "adapter error"
"""The finding of a program that ends a run without a verdict: the suite takes the error for the adapter's."""


@dataclass(frozen=True, slots=True)
class Programs:
    """The programs of a run of one framework, by test; those of the audit, which runs each op alone, come first."""

    framework: str
    """The framework's name."""
    tests: tuple[Test, ...]
    audited: AuditResult
    """The ops that the framework itself computes wrongly; drawn programs do not use them."""

    @classmethod
    def draw(cls, name: str, examples: int, seed: int) -> Programs:
        """Draws the programs that a run with `examples` programs per rule draws, and drops those that fail."""
        framework = under_test(name)
        alphabet.use(framework.alphabet)
        ops = tuple(framework.alphabet.ops)
        alone = [_alone(op, framework) for op in ops]
        audited = audit.audit(framework.target, framework.drawable, False)
        framework.adopt_audit(audited)
        framework.prepare()
        drawn = [drawn_by(probe, framework, seed) for probe in probes((), ops, examples)]
        return cls(name, tuple(passing(test, framework) for test in (*alone, *drawn)), audited)

    @property
    def count(self) -> int:
        """Number of programs."""
        return sum(len(test.cases) for test in self.tests)


@dataclass(frozen=True, slots=True)
class Break:
    """The first program that an engine fails."""

    test: str
    """Name of the test that drew the program."""
    rule: str
    """The rule that is violated."""
    op: str | None
    """The op that violates it."""


def under_test(name: str) -> FrameworkUnderTest:
    """Returns a framework by name, with its known differences, and without a look at the user's files."""
    file = shipped(name)
    return FrameworkUnderTest(Settings(name, known_files=(file,) if file is not None else ()))


def _alone(op: str, framework: FrameworkUnderTest) -> Test:
    """Returns the audit's programs of an op. The audit itself stops at an op's first violation; these continue."""
    cases: Iterator[Program] = to_run_alone(audit.programs(op, framework.drawable), framework.target)
    return Test(f"audit[{op}]", "gradients/op", tuple(cases))


def passing(test: Test, framework: FrameworkUnderTest) -> Test:
    """Returns a test without the programs that fail, or that the framework cannot run."""
    check = check_of(test, framework)
    cases = () if check is None else tuple(case for case in test.cases if first_break(test, check, case) is None)
    return Test(test.name, test.rule, cases)


def first_break(test: Test, check: Check, case: Case) -> Break | None:
    """Returns what a program breaks; None if it breaks no MUST."""
    try:
        with stopped_after(PATIENCE):
            broken: RuleViolated | None = broken_by(check, case)
    except AdapterError:
        return Break(test.name, BREAKS_WITHOUT_VERDICT, None)
    except Late:
        return Break(test.name, HANGS, None)
    return None if broken is None else Break(test.name, broken.violation.rule, broken.violation.op)


def loaded(programs: Programs) -> FrameworkUnderTest:
    """Returns the framework of some programs, as this process imports it, ready to run them. Raises what importing the
    framework, or its first program, raises.
    """
    framework = under_test(programs.framework)
    framework.adopt_audit(programs.audited)
    framework.prepare()
    return framework


def judge(programs: Programs, framework: FrameworkUnderTest) -> tuple[int, Break | None]:
    """Runs the programs on a framework until one fails. Returns the number of programs that ran, and what the last one
    broke.
    """
    ran = 0
    for test in programs.tests:
        check = check_of(test, framework)
        for case in test.cases if check is not None else ():
            ran += 1
            found = first_break(test, check, case)
            if found is not None:
                return ran, found
    return ran, None
