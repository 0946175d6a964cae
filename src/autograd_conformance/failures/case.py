"""A failing program and what there is to know of it, each part made once: a failure is told from this."""

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
    """A program that breaks a rule."""

    program: Program
    """The program."""
    observation: Observation
    """What was observed of it."""
    violation: Violation
    """The first difference from what the rules allow."""
    target: Target
    """What ran it."""

    @classmethod
    def of(cls, broken: RuleViolated) -> Case:
        """The case of a broken rule about one program."""
        return cls(broken.program, broken.observation, broken.violation, broken.target)

    @property
    def dialect(self) -> Dialect | None:
        """How the framework's code is written."""
        return self.target.dialect

    @cached_property
    def names(self) -> dict[Ref, str]:
        """Every value's name."""
        return names(self.program)

    @cached_property
    def form(self) -> codec.Json:
        """The program's JSON form."""
        return codec.to_json(self.program)

    @cached_property
    def code(self) -> list[str]:
        """The program in the framework's code, a line an instruction."""
        return code(self.program, self.dialect)

    @cached_property
    def loop(self) -> str:
        """The same with its repetitions as loops; empty where nothing repeats, or functions stand around it."""
        return loop_listing(self.program, self.target, self.violation.at)

    @cached_property
    def context(self) -> Context:
        """The tape and its reference before the failing line, and what may happen there."""
        reference = Reference(self.program, self.target.traits)
        return context_of(self.program, self.observation, reference, self.target.capabilities, self.violation)
