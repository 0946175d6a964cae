"""A failing program with its observation and violation: everything that a failure record is made from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from autograd_conformance.checking.check import RuleViolated
from autograd_conformance.failures.listing import loop_listing
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.printing.dialect import Dialect, code
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.formats.text import names
from autograd_conformance.programs.language import Program, Ref
from autograd_conformance.programs.observations import Observation
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.explanation.context import Context, context_of
from autograd_conformance.rules.violations.violation import Violation


@dataclass(frozen=True)
class Case:
    """A program that breaks a rule, and how it does so. Derived parts are computed once, when first needed."""

    program: Program
    """The failing program."""
    observation: Observation
    """The framework's outcome for each instruction of the program."""
    violation: Violation
    """The first difference between the observation and the outcomes that the rules allow."""
    target: Target
    """The framework that ran the program."""

    @classmethod
    def of(cls, broken: RuleViolated) -> Case:
        """The case of a broken rule about a single program."""
        return cls(broken.program, broken.observation, broken.violation, broken.target)

    @property
    def dialect(self) -> Dialect | None:
        """How code for the framework is printed; None if it cannot be printed."""
        return self.target.dialect

    @cached_property
    def names(self) -> dict[Ref, str]:
        """The printed name of each value."""
        return names(self.program)

    @cached_property
    def form(self) -> codec.Json:
        """The program's JSON form."""
        return codec.to_json(self.program)

    @cached_property
    def code(self) -> list[str]:
        """The program as code of the framework, one line for each instruction."""
        return code(self.program, self.dialect)

    @cached_property
    def loop(self) -> str:
        """The program as code in which repeated lines are loops; empty if nothing repeats or the framework compiles
        regions.
        """
        return loop_listing(self.program, self.target, self.violation.at)

    @cached_property
    def context(self) -> Context:
        """The tape and the reference just before the failing line, and the outcomes that are allowed there."""
        reference = Reference(self.program, self.target.traits)
        return context_of(self.program, self.observation, reference, self.target.capabilities, self.violation)
