"""Sequences: actions of every kind in any order, so that an early action may change the result of a much later call.

A sequence is a number of actions on drawn values, each drawn from a table in which no action is rare. An action without
suitable values does nothing, like the simplest action, so a failing sequence shrinks by removing actions anywhere.
"""

from __future__ import annotations

from hypothesis import strategies as st

from autograd_conformance.strategies.building.action_builder import ActionBuilder
from autograd_conformance.strategies.building.choices import Draw
from autograd_conformance.strategies.building.drawn import Drawn

from autograd_conformance.strategies.sequences import computing  # isort: skip - its actions come first in the table
from autograd_conformance.strategies.sequences import calls  # isort: skip
from autograd_conformance.strategies.sequences.table import SHAPES, Sequence

MOST = 40
"""Largest number of instructions of a sequence before its last action."""


@st.composite
def sequences(draw: Draw, most: int = 30) -> Drawn:
    """Up to `most` actions on one or two leaves, then a call."""
    b = ActionBuilder(draw)
    b.begin()
    sequence = Sequence(b)
    b.leaf(b.pick(b.shapes(SHAPES)))
    for _ in range(3 + b.below(most - 2)):
        if len(b.reference.steps) >= MOST:
            break
        b.part(sequence.act)
    root = sequence.root()
    if root is not None:
        b.call(root, retain=sequence.retain())
    return b.drawn()


__all__ = ["calls", "computing", "sequences"]
