"""The result of judging one program: its first violation, and the rules that were put to the test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from autograd_conformance.rules.judge.choices import Choice
from autograd_conformance.rules.violations.violation import Violation
from autograd_conformance.tape.refusals import Refusal


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on one program."""

    violation: Violation | None
    """The first violation, if there is one."""
    exercised: Mapping[str, int]
    """How often each rule was put to the test."""
    unspecified: bool = False
    """Whether the rules left something open: judging ended there, or went on from what was seen."""
    ended_by: Violation | None = None
    """The violation that is excused, and behind which nothing could be judged."""
    judged: int = 0
    """How many instructions were judged."""
    choices: Mapping[Choice, int] = field(default_factory=dict)
    """What was chosen where the rules allow several outcomes, and how often."""
    refusals: tuple[Refusal, ...] = ()
    """The calls that were refused by errors that the adapter does not know."""


Waiver = Callable[[Violation], bool]
"""Whether a violation is known, and no failure; a violation that it excused is not asked for again."""


def waives_nothing(violation: Violation) -> bool:
    """No violation is excused."""
    return False
