"""Choices: the outcome that a framework took where the rules allow several. A choice is neither right nor wrong."""

from __future__ import annotations

from typing import NamedTuple

from autograd_conformance.programs.language import INSTRUCTIONS
from autograd_conformance.programs.observations import Raised, Returned
from autograd_conformance.tape.trace import TraceStep

RETURNS = "returns"
"""The text of an outcome without an error, in a `Choice`; the text of any other outcome is a kind of error."""


class Choice(NamedTuple):
    """Several outcomes that the rules allow, and the one that was observed."""

    instruction: str
    """The instruction's word in the JSON form of programs."""
    allowed: tuple[tuple[str, str], ...]
    """The outcomes, each `RETURNS` or a kind of error, with the slug of the rule that allows the outcome."""
    chosen: str
    """The outcome that was observed: `RETURNS` or a kind of error."""


def choice(traced: TraceStep) -> Choice | None:
    """Returns the choice at an instruction that breaks no rule; None if one outcome is allowed, or if the instruction
    ran in a region, a compiled or checkpointed function.
    """
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
