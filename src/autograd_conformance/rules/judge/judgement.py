"""The result of judging one program: the first violation, and the rules that the program tested."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from autograd_conformance.programs.slugs import Slug
from autograd_conformance.rules.judge.choices import Choice
from autograd_conformance.rules.violations.violation import Violation
from autograd_conformance.tape.refusals import Refusal


@dataclass(frozen=True, slots=True)
class Judgement:
    """The result of judging one program: the first violation, and the rules that the program tested."""

    violation: Violation | None
    """The first violation, if there is one."""
    exercised: Mapping[Slug, int]
    """The number of times that the program tested each rule."""
    unspecified: bool = False
    """Whether the rules left some behaviour unspecified, or results could not be observed: judging ended there, or
    adopted the observed state.
    """
    ended_by: Violation | None = None
    """The waived violation after which nothing more could be judged; None if there is none."""
    waived: tuple[Violation, ...] = ()
    """All waived violations, in order; the last one is `ended_by`, if there is one."""
    judged: int = 0
    """Number of instructions that were judged, without those whose unspecified effects were adopted as observed."""
    choices: Mapping[Choice, int] = field(default_factory=dict)
    """The outcomes that the framework chose where the rules allow several, each with the number of instructions at
    which it was chosen.
    """
    refusals: tuple[Refusal, ...] = ()
    """The expected errors that the adapter could not classify, of backward calls and of other instructions."""


Waiver = Callable[[Violation], bool]
"""A function that says whether a violation is a known difference, which is no failure. It changes nothing: the judge
lists what was waived.
"""


def waives_nothing(violation: Violation) -> bool:
    """Waives no violation: always returns False."""
    return False


def waives_everything(violation: Violation) -> bool:
    """Waives each violation, so that judging goes as far as it can: always returns True."""
    return True
