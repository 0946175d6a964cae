"""Values of the kinds that situations are made of: with memory of their own, in the memory of others."""

from __future__ import annotations

from functools import lru_cache

from rules.catalogue import Needs
from rules.language import Ref, Shape
from rules.ops import OPS, VIEWS
from rules.ops.op import POOL, takes
from rules.usage import operands
from strategies.actor import Actor

NONEMPTY = tuple(s for s in POOL if 0 not in s)

LOOKING = (
    "reshape", "slice", "matrix_transpose", "expand_dims", "select", "diagonal", "transpose", "narrow", "permute_dims",
    "squeeze", "flatten", "moveaxis", "unflatten",
)  # fmt: skip
"""Ops that give one view, no two elements of which are one in memory."""

SPLITTING = ("split", "unstack", "chunk", "tensor_split")
"""Ops that give several views."""


@lru_cache(maxsize=8)
def _without_views(weighted: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in weighted if name not in VIEWS)


def plain(b: Actor, value: Ref) -> Ref:
    """A value with memory of its own, made from `value` by a drawn op that can take it."""
    names = _without_views(tuple(b.alphabet.weighted))
    for _ in range(2 if names else 0):
        made = b.op(b.pick(names), on=value)[0]
        if value in operands(b.reference.steps[made.at]) and b.reference.values[made].size:
            return made
    return b.nonlinear(value)


def computed(b: Actor, *shapes: Shape, most: int = 2) -> Ref:
    """A value with memory of its own that requires grad and is no leaf, `most` ops or fewer from a leaf of one of some
    shapes.
    """
    value = b.leaf(b.pick(shapes or NONEMPTY))
    for _ in range(b.below(most)):
        made = plain(b, value)
        value = made if b.requires(made) and (not shapes or b.shape(made) in shapes) else value
    return b.nonlinear(value)


def view(b: Actor, source: Ref, most: int = 2, several: bool = False) -> Ref:
    """A view of a value, by one to `most` view ops, each on the result of the one before; `several` lets in the ops
    that give several views.
    """
    names = b.having(*LOOKING, *(SPLITTING if several else ()))
    made = source
    for _ in range(1 + b.below(most)):
        fitting = [n for n in names if takes(OPS[n], b.shape(made))]
        found = b.op(b.pick(fitting), on=made) if fitting else []
        found = [r for r in found if made in operands(b.reference.steps[r.at]) and b.reference.values[r].size]
        if not found:
            break
        made = b.pick(found)
    return made


def alias(b: Actor, source: Ref) -> Ref:
    """A value in the memory of another: a view of it, or it detached, or a view of that."""
    if not b.can(Needs.DETACH) or b.below(3):
        return view(b, source)
    detached = b.detach(source)
    return view(b, detached, 1) if b.below(2) else detached
