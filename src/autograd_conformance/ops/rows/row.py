"""One row of the op catalogue: everything that the suite knows of an op, in one place.

A row is read by the strategies (which operands, which attributes, which values), by the tape model (whether the
derivative needs saved values), by the reference (what it computes) and by everyone who prints a program (how it is
written). The reference is a function of a namespace `j` that is handed in, so that this table can be read where JAX is
not installed: `j.np` is jax.numpy, `j.nn` jax.nn, `j.lax` jax.lax, `j.sp` jax.scipy.special, `j.linalg`
jax.numpy.linalg.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache
from typing import Any

from autograd_conformance.ops.rows.domains import ANY, Domain
from autograd_conformance.programs.language import Attrs, Shape


class Certainty(IntEnum):
    """Whether something is so; `NEVER` alone is false."""

    NEVER = 0
    """It is not so."""
    MAYBE = 1
    """It is unknown, or an implementation's choice."""
    ALWAYS = 2
    """It is so."""


RESULTS = -1
"""In `Op.also_saves`: the results."""

Choices = Sequence[Mapping[str, Any]]
"""Attributes to choose from: each maps names to `programs.language.Attr`."""

NO_ATTRIBUTES: Choices = ({},)
NO_FURTHER_OPERANDS: tuple[tuple[Shape, ...], ...] = ((),)

POOL: tuple[Shape, ...] = (
    (3,),
    (2,),
    (),
    (2, 3),
    (1,),
    (3, 2),
    (2, 2),
    (1, 3),
    (2, 1),
    (0,),
    (3, 3),
    (2, 2, 3),
    (2, 1, 3),
    (0, 3),
    (1, 2, 1, 2),
)
"""The shapes of fresh leaves: few, so that what is computed once per shape is soon known; rank 0 to 4, 0 and 1 among
the dimensions."""

KEPT = 8192
"""For how many shapes is remembered what ops make of them."""

LARGEST = 24
"""The most elements that a value of a drawn program has."""


@dataclass(frozen=True, slots=True)
class Op:
    """A differentiable op."""

    name: str
    """Its name in programs."""
    torch: str
    """Its code as PyTorch's documentation writes it: ``{0}`` and ``{1}`` stand for operands, ``{dim}`` for the
    attribute of that name."""
    reference: Callable[..., Any]
    """Its results: a function of the namespace `j`, the operands and, by name, the attributes."""
    saves: Certainty
    """Whether its derivative needs saved values, where every operand requires grad."""
    accepts: Callable[[Shape], bool] = lambda shape: True
    """Which shapes the first operand may have."""
    fresh: tuple[Shape, ...] = POOL
    """The shapes that a leaf made for the first operand takes."""
    rest: Callable[[Shape], Sequence[tuple[Shape, ...]]] = lambda shape: NO_FURTHER_OPERANDS
    """For a first operand's shape, the shapes that the others may have together; always as many operands."""
    choices: Callable[..., Choices] = lambda *shapes: NO_ATTRIBUTES
    """For all operands' shapes, the attributes to choose from."""
    domains: tuple[Domain, ...] = (ANY,)
    """Where it is smooth: a domain per operand, the last of which stands for all that follow."""
    apart: Callable[..., bool] | None = None
    """A condition on the values of all operands together, such as that there are no ties between them."""
    family: str = ""
    """The table that it stands in."""
    unsaved: tuple[int, ...] = ()
    """The operands, of an op that always saves, whose own derivative needs no saved value (the matrix that addmm adds
    to): where no other operand requires grad, an implementation may save nothing."""
    dtype: str | None = None
    """The results' dtype, where the op itself decides it."""
    promotes: Certainty = Certainty.NEVER
    """Whether its operands may have several dtypes, the widest of which is the result's; `MAYBE` where numbers of a
    narrower one may be computed with on the way to a derivative, such as the square of a divisor."""
    aliases: Certainty = Certainty.NEVER
    """Whether results share the first operand's memory."""
    multi: bool = False
    """Whether it returns several views at once, to which PyTorch refuses recorded writes."""
    sequence: bool = False
    """Whether it returns a sequence, even of one result."""
    overlaps: bool = False
    """Whether several elements of a result may lie in one place of memory, so that writing to it is undefined."""
    also_saves: tuple[int, ...] = ()
    """The operands (and `RESULTS`) that PyTorch was seen to save where the derivative does not depend on them, so that
    writing to them later is an error: for their shapes, because they serve another operand's derivative, or for points
    that are judged nowhere."""
    code: Callable[[Sequence[str], Mapping[str, Any]], str] | None = None
    """Writes its code from the operands' names and the attributes, in the place of `torch`: for ops whose code depends
    on the attributes in more than their values."""
    examples: tuple[Attrs, ...] = ()
    """Attributes that programs may have besides those of `choices`, each with a value of every kind that it takes."""
    draws: Callable[..., bool] | None = None
    """Whether values may have been drawn with some attributes, of an op that draws at random."""

    @property
    def template(self) -> str | Callable[[Sequence[str], Mapping[str, Any]], str]:
        """How the op is written in PyTorch, as `printing.dialect.fill` takes it."""
        return self.code or self.torch

    def domain(self, operand: int) -> Domain:
        """The domain of one operand."""
        return self.domains[min(operand, len(self.domains) - 1)]

    def saving(self, requires_grad: Sequence[bool]) -> Certainty:
        """Whether the derivative needs saved values when only some operands require grad."""
        if self.saves is Certainty.ALWAYS and all(
            k in self.unsaved for k, needed in enumerate(requires_grad) if needed
        ):
            return Certainty.MAYBE
        return self.saves


@lru_cache(maxsize=KEPT)
def rest_of(op: Op, first: Shape) -> tuple[tuple[Shape, ...], ...]:
    """`op.rest`, remembered, less the shapes that leave no attributes to choose from."""
    return tuple(rest for rest in op.rest(first) if op.choices(first, *rest))


@lru_cache(maxsize=None)
def arity(op: Op) -> int:
    """How many operands an op of the tables has; modules have more or fewer, as their settings say."""
    return 1 + len(op.rest(op.fresh[0])[0])


@lru_cache(maxsize=KEPT)
def takes(op: Op, first: Shape) -> bool:
    """Whether an op can be drawn with a first operand of this shape."""
    return op.accepts(first) and bool(rest_of(op, first))


@lru_cache(maxsize=KEPT)
def choices_of(op: Op, shapes: tuple[Shape, ...]) -> tuple[Attrs, ...]:
    """`op.choices` as hashable attributes, remembered."""
    return tuple(tuple(choice.items()) for choice in op.choices(*shapes))


def table(family: str, *rows: Op) -> dict[str, Op]:
    """The rows of one family by name, each marked with the family."""
    return {row.name: replace(row, family=family) for row in rows}
