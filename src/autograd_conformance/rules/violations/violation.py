"""A violation: the first difference between the outcomes that the rules allow and the observation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from autograd_conformance.programs.language import Apply, InPlace, Instruction, Ref
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.programs.slugs import Slug
from autograd_conformance.rules.diagnosis.kinds import Diagnosis
from autograd_conformance.rules.violations.behaviour import Expected, Observed
from autograd_conformance.rules.violations.expected import ExpectedError
from autograd_conformance.rules.violations.observed import RaisedError
from autograd_conformance.rules.violations.shared import GradientForm


@dataclass(frozen=True, slots=True)
class Allowed:
    """One allowed behaviour of an instruction, and the rule that allows it."""

    expected: Expected
    rule: Slug


@dataclass(frozen=True, slots=True)
class Violation:
    """The first difference between the outcomes that the rules allow and the observation."""

    rule: Slug
    """The slug of the rule that was violated."""
    at: int
    """The number, from 0, of the instruction at which the difference was found."""
    observed: Observed
    """The behaviour of the framework."""
    allowed: tuple[Allowed, ...]
    """The behaviours that the rules allow instead, the most usual first."""
    subject: Ref | None = None
    """The value or leaf that the difference is about; None if it is about the outcome of the instruction."""
    op: str | None = None
    """The op that causes the difference, if a single op does."""
    grad_before: np.ndarray | None = None
    """The gradient that the subject held before the instruction."""
    got: np.ndarray | None = None
    """The elements of the value or gradient that was observed, if the difference is about elements."""
    want: np.ndarray | None = None
    """The right array, which the reference or a related second program computed, if two arrays were compared."""
    bound: np.ndarray | None = None
    """The rounding error that is allowed for each element of `got - want`."""
    diagnosis: Diagnosis | None = None
    """The known fault that would give `got`, up to rounding; None if no known fault does."""
    partner: Ref | None = None
    """The leaf that holds the same gradient object as the subject, if the violation is about that."""
    regions: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """For each instruction that ran in a region (several instructions as one compiled or checkpointed function), the
    numbers of all instructions of that region.
    """
    undiagnosed: Violation | None = None
    """The same violation without the diagnosis and without the rule that it names; used if the diagnosis turns out to
    be a coincidence.
    """

    def observed_text(self) -> str:
        """Returns the observed behaviour as a clause, such as "the leaf holds no gradient". Where no error is allowed,
        the kind of an error does not matter.
        """
        if isinstance(self.observed, RaisedError) and not any(
            isinstance(each.expected, ExpectedError) for each in self.allowed
        ):
            return self.observed.text_of_any_kind()
        if isinstance(self.observed, GradientForm):
            forms = [each.expected for each in self.allowed if isinstance(each.expected, GradientForm)]
            return self.observed.text_among(forms)
        return self.observed.observed_text()

    def allowed_texts(self) -> tuple[tuple[str, str], ...]:
        """Returns the behaviours that the rules allow instead, as clauses, each with the slug of its rule."""
        return tuple((each.expected.expected_text(), each.rule) for each in self.allowed)

    def diagnosis_text(self) -> str | None:
        """Returns a sentence that describes the fault; None if there is no diagnosis."""
        return None if self.diagnosis is None else str(self.diagnosis)

    def in_regions(self, regions: Mapping[int, tuple[int, ...]]) -> Violation:
        """Returns the same violation for a program that ran in these regions, which are compiled or checkpointed
        functions of several instructions.
        """
        return replace(self, regions=regions, undiagnosed=self.undiagnosed and self.undiagnosed.in_regions(regions))


def diagnosed(undiagnosed: Violation, diagnosis: Diagnosis, rule: Slug, op: str | None = None) -> Violation:
    """Returns the violation with a diagnosis, and with the given rule and op; `undiagnosed` of the result is the
    violation without these.
    """
    return replace(undiagnosed, rule=rule, op=op, diagnosis=diagnosis, undiagnosed=undiagnosed)


def op_of(step: Instruction) -> str | None:
    """Returns the name of the op that an instruction applies, in-place ops included; None if it applies none."""
    return step.op if isinstance(step, (Apply, InPlace)) else None
