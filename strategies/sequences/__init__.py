"""Sequences: programs of ops, in-place writes, backward calls, hooks and other actions in any order, so that an early
action may change the result of a much later call.

A sequence is a number of actions on drawn values, each drawn from a table in which no action is rare. An action without
suitable values does nothing, like the simplest action, so a failing sequence shrinks by removing actions anywhere.
"""

from __future__ import annotations

from hypothesis import strategies as st

from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.building.randomness.choices import Choices, Draw

from autograd_conformance.strategies.sequences import computing  # isort: skip - its actions come first in the table
from autograd_conformance.strategies.sequences import calls  # isort: skip
from autograd_conformance.strategies.sequences.table import SHAPES, TABLE, Sequence

MOST = 40
"""Number of instructions after which a sequence gets no further actions except a last backward call."""


@st.composite
def sequences(draw: Draw, most: int = 30) -> Drawn:
    """Draws programs of up to `most` actions, such as an op, an in-place write or a hook, that begin with one leaf and
    end with a backward call, if any value still requires grad.
    """
    b = Draft(Choices(draw))
    b.begin()
    sequence = Sequence(b)
    b.leaf_of(SHAPES)
    for _ in range(3 + b.below(most - 2)):
        if len(b.reference.steps) >= MOST:
            break
        b.choices.part(sequence.act)
    root = sequence.root()
    if root is not None:
        b.actions.backward(root, retain=sequence.retain())
    return b.drawn()


@st.composite
def histories(draw: Draw, most: int = 30) -> Drawn:
    """Draws programs in which up to `most` different things happen to one value, and which end with backward calls
    through it. Each kind of action is equally likely, so that all pairs of them meet.
    """
    b = Draft(Choices(draw))
    b.begin()
    sequence = Sequence(b, ("nothing", *TABLE))
    sequence.focus = b.leaf_of(SHAPES)
    for _ in range(3 + b.below(most - 2)):
        if len(b.reference.steps) >= MOST:
            break
        b.choices.part(sequence.act)
    for _ in range(1 + b.below(2)):
        root = sequence.root()
        if root is not None:
            b.actions.backward(root, retain=sequence.retain())
    return b.drawn()


__all__ = ["calls", "computing", "histories", "sequences"]
