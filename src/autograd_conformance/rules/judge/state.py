"""The state that all checks of one program share: the program, the tape (the model of what the framework recorded), the
reference, and the results so far.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.dtypes import DTYPES
from autograd_conformance.programs.language import Instruction, Program, Ref
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.programs.slugs import Slug
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reference.rounding.bounds import working_dtype
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.judge.choices import Choice
from autograd_conformance.rules.judge.judgement import Waiver, waives_nothing
from autograd_conformance.rules.violations.behaviour import Expected, Observed
from autograd_conformance.rules.violations.observed import ObjectReplaced, SavedTensorCount
from autograd_conformance.rules.violations.shared import Strides
from autograd_conformance.rules.violations.violation import Allowed, Violation, op_of
from autograd_conformance.tape.model import Tape
from autograd_conformance.tape.refusals import Refusal
from autograd_conformance.tape.traversal import NO_REGIONS

FORM = (Strides, SavedTensorCount)
"""Types of differences after which judging can continue, with the observed strides or number of saved tensors."""


@dataclass(eq=False)
class Judging:
    """The state of judging one program. `judge` alone sets `unspecified`, from what the checks find."""

    program: Program
    capabilities: frozenset[Capability]
    """The capabilities that the framework claims."""
    reference: Reference
    tape: Tape
    values_before: dict[Ref, np.ndarray] = field(default_factory=dict)
    """The right array of every value before the current instruction, if the instruction changes values in place; else
    empty.
    """
    strides: dict[Ref, tuple[int, ...] | None] = field(default_factory=dict)
    """The strides of every value that was made, in elements; None if the framework does not report strides."""
    dtypes: dict[Ref, str] = field(default_factory=dict)
    """The observed dtype of every value that was made."""
    memories: dict[Ref, int] = field(default_factory=dict)
    """For each live value, the observed number that identifies its memory."""
    owners: dict[int, Ref] = field(default_factory=dict)
    """For each number that identifies a memory, the first value in that memory."""
    exercised: dict[Slug, int] = field(default_factory=dict)
    """The number of times that the program tested each rule."""
    choices: Counter[Choice] = field(default_factory=Counter)
    """The outcomes that the framework chose where the rules allow several, each with the number of instructions at
    which it was chosen.
    """
    refusals: list[Refusal] = field(default_factory=list)
    """The expected errors that the adapter could not classify, of backward calls and of other instructions."""
    unspecified: bool = False
    """Whether the rules do not specify what the program's next instructions do."""
    adopted: int = 0
    """Number of instructions whose effects are unspecified and were adopted as observed."""
    waives: Waiver = waives_nothing
    """A function that says whether a violation is a known difference, which is no failure."""
    waived: list[Violation] = field(default_factory=list)
    """The waived violations."""
    regions: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """For each instruction that ran in a region (several instructions as one compiled or checkpointed function), the
    numbers of all instructions of that region.
    """

    @staticmethod
    def of(
        program: Program,
        reference: Reference,
        capabilities: Collection[Capability],
        waives: Waiver = waives_nothing,
        regions: Mapping[int, tuple[int, ...]] = NO_REGIONS,
    ) -> Judging:
        """Returns the state before the first instruction of a program.

        `reference` has computed the program. If the right values depend on what is observed, an empty reference takes
        its place, which then follows the observation.
        """
        stateful = reference.needs_observations(program)
        reference = reference.empty() if stateful else reference
        reference.observing = stateful
        reference.storages.documented = Capability.VIEWS in capabilities
        tape = Tape(reference, capabilities, regions=regions)
        return Judging(program, frozenset(capabilities), reference, tape, waives=waives, regions=regions)

    @cached_property
    def dtype(self) -> str:
        """The narrowest floating dtype in which the program computes, by whose precision rounding is measured."""
        return working_dtype(self.program)

    def precision(self, dtype: str | None) -> str:
        """Returns the dtype whose rounding a number is first compared with: the number's dtype, or else the program's.
        A number within that rounding is right, whatever it was computed from.
        """
        return dtype if dtype in DTYPES else self.dtype

    @property
    def stateful(self) -> bool:
        """Whether the right values depend on what was observed, so that the reference follows the observation."""
        return self.reference.observing

    def applies(self, rule: Slug) -> bool:
        """Whether the framework claims the capabilities that a rule needs."""
        return RULES[rule].needs <= self.capabilities

    def waive_form(self, violation: Violation) -> bool:
        """Waives a violation that is about the strides or the object of a gradient, or about the number of saved
        tensors, if it is a known difference; returns whether it was waived. The following instructions can be judged as
        if there were no violation.
        """
        fine = isinstance(violation.observed, FORM)
        if isinstance(violation.observed, ObjectReplaced):
            old = None if violation.subject is None else self.tape.grads.get(violation.subject)
            recorded = old is None or old.requires_grad is not False
            fine = not (self.stateful and recorded)  # the new object may have another history than the reference's
        return fine and self.waive(violation)

    def waive(self, violation: Violation) -> bool:
        """Waives a violation if it is a known difference; returns whether the violation was waived."""
        found = violation.in_regions(self.regions)
        fine = self.waives(found)
        self.waived += [found] if fine else []
        return fine

    def exercise(self, rules: Iterable[Slug]) -> None:
        """Counts rules that the program tested."""
        for rule in rules:
            self.exercised[rule] = self.exercised.get(rule, 0) + 1

    def differs(
        self, rule: Slug, at: int, subject: Ref, difference: Observed, expected: Expected, step: Instruction
    ) -> Violation | None:
        """Returns the violation of a rule that allows one behaviour, `expected`; None if the rule does not apply to the
        framework.
        """
        if not self.applies(rule):
            return None
        return Violation(rule, at, difference, (Allowed(expected, rule),), subject, op_of(step))
