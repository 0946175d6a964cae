"""What a framework did where the rules allow several outcomes of an instruction: not right, not wrong, its way."""

from __future__ import annotations

from typing import NamedTuple

from autograd_conformance.programs.language import INSTRUCTIONS
from autograd_conformance.programs.observations import Raised, Returned
from autograd_conformance.tape.trace import TraceStep

RETURNS = "returns"
"""The outcome of an instruction that raises nothing."""


class Choice(NamedTuple):
    """Several outcomes that the rules allow, and the one that was seen."""

    instruction: str
    """The instruction's word in the JSON form of programs."""
    allowed: tuple[tuple[str, str], ...]
    """The outcomes, `RETURNS` or a kind of error, each with its rule."""
    chosen: str
    """One of them."""


def choice(traced: TraceStep) -> Choice | None:
    """What was chosen in a moment that breaks no rule; None where there was no choice, or a unit ran as one."""
    expectation, outcome = traced.expectation, traced.observed.outcome
    if not expectation.raises or traced.observed.region:  # nearly always
        return None
    returns = ((RETURNS, expectation.returns),) if expectation.returns else ()
    allowed = (*returns, *((kind.value, rule) for kind, rule in expectation.raises.items()))
    if len(allowed) < 2:
        return None
    word = INSTRUCTIONS[type(traced.step)].word
    match outcome:
        case Returned():
            return Choice(word, allowed, RETURNS)
        case Raised(kind):
            return Choice(word, allowed, kind.value)
        case _:
            return None
