"""Sequences: everything at once, in any order; what is done at the beginning may change what a much later call does.

A sequence is a number of actions, each drawn from a table in which none is rare, on values that are drawn, too. An
action that has nothing to act on does nothing, and neither does the simplest, so that a failing sequence shrinks by
loss_of actions anywhere.
"""

from __future__ import annotations

from hypothesis import strategies as st

from autograd_conformance.strategies.building.action_builder import ActionBuilder
from autograd_conformance.strategies.building.choices import Draw
from autograd_conformance.strategies.building.drawn import Drawn

from autograd_conformance.strategies.sequences import computing  # isort: skip - its actions stand first in the table
from autograd_conformance.strategies.sequences import calls  # isort: skip
from autograd_conformance.strategies.sequences.table import SHAPES, Sequence

MOST = 40
"""The most instructions of a sequence, less what its last action adds."""


@st.composite
def sequences(draw: Draw, most: int = 30) -> Drawn:
    """Up to `most` actions on one or two leaves, and a last call."""
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
