"""Sequences: everything at once, in any order; what is done at the beginning may change what a much later call does.

A sequence is a number of turns. Each turn draws one action out of a table in which no action is rare, and does it to
values that are drawn, too; an action that has nothing to act on does nothing, and so does the simplest turn, so that a
failing sequence shrinks by losing turns anywhere.
"""

from __future__ import annotations

from autograd_conformance.programs.language import Program
from autograd_conformance.strategies.building.action_builder import Actor
from autograd_conformance.strategies.building.draft import Draw
from hypothesis import strategies as st

from autograd_conformance.strategies.sequences import computing  # isort: skip - its turns stand first in the table
from autograd_conformance.strategies.sequences import calls  # isort: skip
from autograd_conformance.strategies.sequences.table import SHAPES, Sequence

MOST = 40
"""The most instructions of a sequence, less what its last turn adds."""


@st.composite
def _turn(draw: Draw, sequence: Sequence) -> None:
    sequence.play(draw)


@st.composite
def sequences(draw: Draw, most: int = 30) -> Program:
    """Up to `most` turns on one or two leaves, and a last call."""
    b = Actor(draw)
    sequence = Sequence(b)
    turns = _turn(sequence)
    b.leaf(b.pick(SHAPES))
    for _ in range(3 + b.below(most - 2)):
        if len(b.reference.steps) >= MOST:
            break
        draw(turns)
    root = sequence.root()
    if root is not None:
        b.call(root, retain=sequence.retain())
    return b.program()


__all__ = ["calls", "computing", "sequences"]
