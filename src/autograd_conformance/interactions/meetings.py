"""Interactions: sets of facts that hold together of one instruction and one value that it touches.

Most faults of software need one or two conditions at once, fewer need three, and none is known that needs more than
six (Kuhn, Wallace and Gallo, 2004). So the interactions of two and of three facts measure what programs cover, whatever
the situations are that somebody thought of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autograd_conformance.interactions.facts import bits, facts_in
from autograd_conformance.interactions.history import History
from autograd_conformance.interactions.options import facts_of
from autograd_conformance.programs.language import GRAD_MODES, Backward, Grad, Instruction, Modes, Program, Ref, of_kind
from autograd_conformance.programs.operands import operands

Meeting = frozenset[str]
"""The facts that hold together of one instruction at one value."""


def meetings(program: Program) -> Iterator[Meeting]:
    """Yields for each instruction and each value that it touches the facts of both."""
    history = History()
    for at, step in enumerate(program):
        modes, read = program.mode(at), operands(step)
        own = bits(*facts_under(step, modes))
        for ref, place in _touched(step, read, history):
            yield facts_in(own | bits(place) | history.bits(ref))
        if not read:
            yield facts_in(own)
        history.record(at, step, modes, read)


def facts_under(step: Instruction, modes: Modes) -> tuple[str, ...]:
    """Returns the facts of an instruction and of its grad modes."""
    modes = of_kind(modes, GRAD_MODES)
    if not modes:
        return facts_of(step)
    return (*facts_of(step), f"under {modes[-1]}", *(("under nested modes",) if len(modes) > 1 else ()))


def place_of(ref: Ref, read: Sequence[Ref]) -> str:
    """Returns the fact that says how an instruction that reads the values `read` uses one of them."""
    return "place: operand twice" if read.count(ref) > 1 else "place: operand"


def _touched(step: Instruction, read: Sequence[Ref], history: History) -> Iterator[tuple[Ref, str]]:
    """Yields the values that an instruction touches, each with its place: an operand, or a value that a call walks."""
    for ref in {*read}:
        yield ref, place_of(ref, read)
    if isinstance(step, (Backward, Grad)):
        for ref in history.walked(step):
            if ref not in read:
                yield ref, "place: walked"
