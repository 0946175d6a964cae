"""What situations share: how one is defined, and the pieces that several are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import strategies as st

from rules.language import Program, Ref
from rules.ops import OPS
from rules.ops.op import choices_of
from strategies.actor import Actor
from strategies.builder import Builder
from strategies.draft import Draw

Programs = st.SearchStrategy[Program]

FREEING = (None, False)
"""The two ways to say that a graph need not be kept."""


def situation(write: Callable[..., None]) -> Callable[..., Programs]:
    """The strategy of the programs that `write` puts into a builder."""

    @st.composite
    def drawn(draw: Draw, *args: object) -> Program:
        builder = Builder(draw)
        write(builder, *args)
        return builder.program()

    drawn.__name__, drawn.__doc__ = write.__name__, write.__doc__
    return drawn


def history(write: Callable[..., None]) -> Callable[..., Programs]:
    """The same for programs of an actor, which follows the model of the tape."""

    @st.composite
    def drawn(draw: Draw, *args: object) -> Program:
        actor = Actor(draw)
        write(actor, *args)
        return actor.program()

    drawn.__name__, drawn.__doc__ = write.__name__, write.__doc__
    return drawn


def joined(b: Builder, values: Sequence[Ref]) -> Ref:
    """One value that depends on all the given ones, by as few ops as their shapes allow."""
    join = b.having("add", "subtract")[0]
    if len({(b.shape(v), b.dtypes[v]) for v in values}) > 1:
        (total,) = b.having("sum")
        values = [b.apply(total, (v,), choices_of(OPS[total], (b.shape(v),))[0])[0] for v in values]
    made = values[0]
    for other in values[1:]:
        if b.dtypes[other] == b.dtypes[made]:
            made = b.apply(join, (made, other))[0]
    return made


def negative(b: Builder) -> str | None:
    """The simplest op that saves nothing, where there is one."""
    return "negative" if "negative" in b.alphabet.ops else None
