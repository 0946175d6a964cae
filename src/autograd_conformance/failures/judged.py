"""A program that ran, with its observation; the violation is computed when it is first needed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from autograd_conformance.checking.check import first_violation
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.observations import Observation
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.judge.judgement import Waiver
from autograd_conformance.rules.violations.violation import Violation
from autograd_conformance.tape.trace import is_smooth_throughout


@dataclass(frozen=True)
class Judged:
    """One run of a program on a framework, and what the rules say about it."""

    program: Program
    """The program that ran."""
    observation: Observation
    """The framework's outcome for each instruction of the program."""
    target: Target
    """The framework that ran the program."""

    @property
    def violation(self) -> Violation | None:
        """The first violation; None if the program keeps all rules."""
        return self._violations[0]

    def violation_unless(self, waives: Waiver) -> Violation | None:
        """Returns the first violation for which `waives` is false; None if there is none."""
        first, questions = self._violations
        if not any(map(waives, questions)):
            return first
        return first_violation(self.program, self.observation, self.target, waives)

    @cached_property
    def _violations(self) -> tuple[Violation | None, tuple[Violation, ...]]:
        """The first violation, and every violation that the judge offered to a waiver until then, the first violation
        included.
        """
        questions: list[Violation] = []

        def waives(violation: Violation) -> bool:
            questions.append(violation)
            return False

        return first_violation(self.program, self.observation, self.target, waives), tuple(questions)

    @cached_property
    def is_legal(self) -> bool:
        """Whether the reference can compute the program. If not, an op gets operands of shapes that it does not take,
        and a correct framework may raise an error.
        """
        try:
            Reference(self.program, self.target.traits)
        except Exception:
            return False
        return True

    @cached_property
    def is_smooth(self) -> bool:
        """Whether every op of the program, as far as it ran, is smooth at its operands. If one is not, two correct
        frameworks may give different results.
        """
        return is_smooth_throughout(self.program, self.observation, self.target.traits)
