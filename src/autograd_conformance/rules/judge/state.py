"""What all checks of one program share: the program, the model and the reference, and what has been found so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Instruction, Program, Ref
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reference.rounding.bounds import working_dtype
from autograd_conformance.reference.rounding.perturbation import EPSILON
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.judge.choices import Choice
from autograd_conformance.rules.judge.judgement import Waiver, waives_nothing
from autograd_conformance.rules.violations.expected import Expected
from autograd_conformance.rules.violations.observed import ObjectReplaced, Observed, SavedTensorCount, Strides
from autograd_conformance.rules.violations.violation import Allowed, Violation, op_of
from autograd_conformance.tape.model import Tape
from autograd_conformance.tape.refusals import Refusal
from autograd_conformance.tape.traversal import NO_REGIONS

HUGE = 1e30
"""Values beyond this are not compared: a rounding may take them to infinity."""


FORM = (Strides, SavedTensorCount)
"""Differences after which the model goes on from what was seen: how a gradient is laid out, and what is alive."""


@dataclass(eq=False)
class Judging:
    """The judging of one program; the checks read it, and say in it where the rules leave open what follows."""

    program: Program
    capabilities: frozenset[Capability]
    """What the framework claims."""
    reference: Reference
    tape: Tape
    values_before: dict[Ref, np.ndarray] = field(default_factory=dict)
    """Every value as it was before the instruction, where that writes to values."""
    strides: dict[Ref, tuple[int, ...] | None] = field(default_factory=dict)
    """The strides of every value that was made, in elements; none where they cannot be observed."""
    dtypes: dict[Ref, str] = field(default_factory=dict)
    """The dtype of every value that was made, as it was seen."""
    memories: dict[Ref, int] = field(default_factory=dict)
    """The memory of every value that is not deleted, by the number that was seen."""
    owners: dict[int, Ref] = field(default_factory=dict)
    """The first of the values in each memory."""
    exercised: dict[str, int] = field(default_factory=dict)
    """How often each rule was put to the test."""
    choices: Counter[Choice] = field(default_factory=Counter)
    """What was chosen where the rules allow several outcomes, and how often."""
    refusals: list[Refusal] = field(default_factory=list)
    """The calls that were refused by errors that the adapter does not know."""
    unspecified: bool = False
    """Whether the rules say nothing of what follows."""
    waives: Waiver = waives_nothing
    """Whether a violation is known, and no failure."""
    waived_earlier: bool = False
    """Whether a violation was excused, and what follows is judged all the same."""

    @staticmethod
    def of(
        program: Program,
        reference: Reference,
        capabilities: Collection[Capability],
        waives: Waiver = waives_nothing,
        regions: Mapping[int, tuple[int, ...]] = NO_REGIONS,
    ) -> Judging:
        """The judging of a program that has not begun.

        `reference` has computed the program; one whose right values depend on what is observed gets a reference of its
        own, which follows the observation.
        """
        stateful = reference.needs_observations(program)
        reference = reference.empty() if stateful else reference
        reference.observing = stateful
        tape = Tape(reference, capabilities, regions=regions)
        return Judging(program, frozenset(capabilities), reference, tape, waives=waives)

    @cached_property
    def dtype(self) -> str:
        """The dtype that rounding is measured in."""
        return working_dtype(self.program)

    def precision(self, dtype: str | None) -> str:
        """The dtype in which a number of some dtype is compared at first: within the rounding of its own it is right,
        whatever it was made of.
        """
        return dtype if dtype in EPSILON else self.dtype

    @property
    def stateful(self) -> bool:
        """Whether what is right depends on what was observed."""
        return self.reference.observing

    def applies(self, rule: str) -> bool:
        """Whether the framework claims what a rule needs."""
        return RULES[rule].needs <= self.capabilities

    def waive_form(self, violation: Violation) -> bool:
        """Whether a violation is of the form alone and excused: what follows can be judged as if it were none."""
        fine = isinstance(violation.observed, FORM)
        if isinstance(violation.observed, ObjectReplaced):
            old = None if violation.subject is None else self.tape.grads.get(violation.subject)
            recorded = old is None or old.requires_grad is not False
            fine = not (self.stateful and recorded)  # the new one may have another history than the reference says
        return fine and self.waive(violation)

    def waive(self, violation: Violation) -> bool:
        """Whether a violation is excused that the model can take over."""
        fine = self.waives(violation)
        self.waived_earlier = self.waived_earlier or fine
        return fine

    def exercise(self, rules: Iterable[str]) -> None:
        """Count rules that are put to the test."""
        for rule in rules:
            self.exercised[rule] = self.exercised.get(rule, 0) + 1

    def differs(
        self, rule: str, at: int, subject: Ref, difference: Observed, expected: Expected, step: Instruction
    ) -> Violation | None:
        """The violation of a rule, where the rule applies."""
        if not self.applies(rule):
            return None
        return Violation(rule, at, difference, (Allowed(expected, rule),), subject, op_of(step))
