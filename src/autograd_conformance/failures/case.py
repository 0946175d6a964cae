"""A failing program with its observation and violation, from which a failure record is made.

Reducing, varying and explaining a failure run more programs. They run through the failure's case, which runs each
program once, and which has the deadline for all of this work.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from functools import cached_property

from autograd_conformance.checking.check import RuleViolated
from autograd_conformance.failures.judged import Judged
from autograd_conformance.failures.listing import loop_listing
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.printing.dialect import Dialect, code
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.formats.text import names
from autograd_conformance.programs.language import Program, Ref
from autograd_conformance.programs.observations import Observation
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.explanation.context import Context, context_of
from autograd_conformance.rules.relations.relation import Related
from autograd_conformance.rules.violations.violation import Violation


@dataclass(frozen=True)
class Case:
    """A program that breaks a rule, with what the framework did and the violation. Derived parts are computed once,
    when first needed.

    Cases that are derived from one case share its runs and its deadline.
    """

    program: Program
    """The failing program, or the first of two related programs."""
    observation: Observation
    """The framework's outcome for each instruction of the program."""
    violation: Violation
    """The first difference between the observation and the outcomes that the rules allow."""
    target: Target
    """The framework that ran the program."""
    related: Related | None = None
    """Both programs, if the rule compares the results of two; otherwise None."""
    until: float = math.inf
    """The deadline for reducing and explaining, on the monotonic clock."""
    runs: dict[str, Judged] = field(default_factory=dict, repr=False, compare=False)
    """The runs of programs after the failure was found, by the program's exact text: programs with 0 and -0 are
    equal."""

    @classmethod
    def of(cls, broken: RuleViolated, until: float = math.inf) -> Case:
        """Makes the case of a `RuleViolated`, with its program, observation and violation."""
        return cls(broken.program, broken.observation, broken.violation, broken.target, broken.related, until)

    def with_crashes_as_errors(self) -> Case:
        """Returns the same case, except that a crash or timeout of the framework's process counts as an error of
        unknown kind, and does not end the search for a smaller program.
        """
        return replace(self, target=self.target.crash_as_error(), runs={})

    def judge(self, program: Program) -> Judged:
        """Runs a program on the framework. A program that ran before for this failure does not run again: its earlier
        run is returned.
        """
        key = repr(program)
        if key not in self.runs:
            self.runs[key] = self.judge_again(program)
        return self.runs[key]

    def judge_again(self, program: Program) -> Judged:
        """Runs a program on the framework, also if it ran before; this shows whether the framework repeats what it
        did.
        """
        return Judged(program, self.target.observe(program), self.target)

    def observe(self, program: Program) -> Observation:
        """Returns the observation of a program, of its earlier run if it ran before for this failure."""
        return self.judge(program).observation

    def failing_with(self, judged: Judged, violation: Violation) -> Case:
        """Returns the case of another program that fails, with its run and its violation."""
        return replace(self, program=judged.program, observation=judged.observation, violation=violation, related=None)

    @property
    def pair(self) -> Related:
        """Both programs of a rule that compares two; fails if the rule is about one program."""
        assert self.related is not None
        return self.related

    def is_over(self) -> bool:
        """Whether the deadline for reducing and explaining this failure has passed."""
        return time.monotonic() >= self.until

    def middle(self) -> float:
        """Returns the end of the first half of the time until the deadline, on the monotonic clock; infinity if there
        is no deadline.
        """
        return self.until if math.isinf(self.until) else (time.monotonic() + self.until) / 2

    @property
    def dialect(self) -> Dialect | None:
        """The templates for printing code of the framework; None if such code cannot be printed."""
        return self.target.dialect

    @cached_property
    def names(self) -> dict[Ref, str]:
        """The name of each value of the program in the printed code."""
        return names(self.program)

    @cached_property
    def form(self) -> codec.Json:
        """The program's JSON form."""
        return codec.to_json(self.program)

    @cached_property
    def code(self) -> list[str]:
        """The program as code of the framework, one text for each instruction."""
        return code(self.program, self.dialect)

    @cached_property
    def loop(self) -> str:
        """The program as code in which repeated lines are written as loops; empty if nothing repeats or the framework
        runs several instructions as one function.
        """
        return loop_listing(self.program, self.target, self.violation.at)

    @cached_property
    def context(self) -> Context:
        """The tape and the reference just before the failing line, and the outcomes that are allowed there."""
        reference = Reference(self.program, self.target.traits)
        return context_of(self.program, self.observation, reference, self.target.capabilities, self.violation)
