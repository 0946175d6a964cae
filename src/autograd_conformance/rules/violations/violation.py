"""What the judge answers: the first difference between what the rules allow and what was observed, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from autograd_conformance.programs.language import Apply, InPlace, Instruction, Ref
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.rules.violations.expected import Expected
from autograd_conformance.rules.violations.observed import Observed


@dataclass(frozen=True, slots=True)
class Allowed:
    """One of the things that an instruction may do, and the rule that allows it."""

    expected: Expected
    rule: str


@dataclass(frozen=True, slots=True)
class Violation:
    """The first difference between what the rules allow and what was observed."""

    rule: str
    """The slug of the broken rule."""
    at: int
    """The number of the instruction."""
    observed: Observed
    """What the framework did."""
    allowed: tuple[Allowed, ...]
    """What it might have done instead, the most usual first."""
    subject: Ref | None = None
    """The value or leaf that the difference is about; none where it is the outcome of the instruction."""
    op: str | None = None
    """The op that is to blame, where one is."""
    grad_before: np.ndarray | None = None
    """The gradient that the subject held before."""
    got: np.ndarray | None = None
    """The array that was observed."""
    want: np.ndarray | None = None
    """The array that the reference computed, where two were compared."""
    bound: np.ndarray | None = None
    """How far rounding may take each element of `got` from `want`."""
    diagnosis: str | None = None
    """A sentence on the fault that would give exactly `got`."""
    partner: Ref | None = None
    """The leaf that shares the subject's gradient object."""
    regions: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """For each instruction that ran in a unit, the numbers of all that ran in it."""
    undiagnosed: Violation | None = None
    """The same without the diagnosis, and without the rule that it names: what is left where the diagnosis turns out to
    be an accident."""

    def in_regions(self, regions: Mapping[int, tuple[int, ...]]) -> Violation:
        """The same in a program that ran in some units."""
        return replace(self, regions=regions, undiagnosed=self.undiagnosed and self.undiagnosed.in_regions(regions))


def diagnosed(undiagnosed: Violation, text: str | None, rule: str, op: str | None = None) -> Violation:
    """A violation with a diagnosis, if there is one, which may name another rule."""
    return (
        undiagnosed if text is None else replace(undiagnosed, rule=rule, op=op, diagnosis=text, undiagnosed=undiagnosed)
    )


def op_of(step: Instruction) -> str | None:
    """The op that an instruction applies, if it does."""
    return step.op if isinstance(step, (Apply, InPlace)) else None
