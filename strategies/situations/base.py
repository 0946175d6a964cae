"""How a situation is defined, and the pieces that situations of several families are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from hypothesis import strategies as st

from autograd_conformance.ops.rows.row import POOL, takes
from autograd_conformance.ops.tables import VIEWS
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Ref, Shape
from autograd_conformance.programs.operands import operands
from autograd_conformance.strategies.building.action_builder import ActionBuilder
from autograd_conformance.strategies.building.choices import Draw
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.building.op_builder import OpBuilder

Programs = st.SearchStrategy[Drawn]

FREEING = (None, False)
"""The two ways to say that a graph need not be kept."""

SHAPES: tuple[Shape, ...] = ((3,), (2, 2), (2, 3), ())


def situation(write: Callable[..., None]) -> Callable[..., Programs]:
    """The strategy of the programs that `write` puts into an `OpBuilder`."""

    @st.composite
    def drawn(draw: Draw, *args: object) -> Drawn:
        b = OpBuilder(draw)
        b.begin()
        write(b, *args)
        return b.drawn()

    drawn.__name__, drawn.__doc__ = write.__name__, write.__doc__
    return drawn


def action_situation(write: Callable[..., None]) -> Callable[..., Programs]:
    """The strategy of the programs that `write` puts into an `ActionBuilder`."""

    @st.composite
    def drawn(draw: Draw, *args: object) -> Drawn:
        b = ActionBuilder(draw)
        b.begin()
        write(b, *args)
        return b.drawn()

    drawn.__name__, drawn.__doc__ = write.__name__, write.__doc__
    return drawn


def joined(b: OpBuilder, values: Sequence[Ref]) -> Ref:
    """One value that depends on all the given ones, by as few ops as their shapes allow."""
    if len({(b.shape(v), b.dtypes[v]) for v in values}) > 1:
        values = [b.summed(v) for v in values]
    made = values[0]
    for other in values[1:]:
        if b.dtypes[other] == b.dtypes[made]:
            made = b.join(made, other)
    return made


def joined_roots(b: OpBuilder, values: Sequence[Ref]) -> Sequence[Ref]:
    """The roots of one call that depends on all the given values: one that joins them, or all where no op joins."""
    return (joined(b, values),) if b.alphabet.has_binary_op else values


def joining(b: OpBuilder, names: Sequence[str], most: int = 3) -> Callable[[Ref, Ref], Ref]:
    """What makes one value of two of one shape: one of the named ops, drawn from the first `most` that are there, or
    whatever op takes both.
    """
    found = [name for name in names if name in b.alphabet.ops][:most]
    if not found:
        return b.join
    name = b.pick(found)
    return lambda one, other: b.apply(name, (one, other))[0]


def negative(b: OpBuilder) -> str | None:
    """The simplest op that saves nothing, where there is one."""
    return "negative" if "negative" in b.alphabet.ops else None


def end_region(b: OpBuilder) -> None:
    """An action that has nothing to do with what was computed: the unit ends here."""
    leaf = b.leaf(b.pick(b.shapes(SHAPES)))
    if b.can(Capability.ZERO_TO_NONE):
        b.zero_grad(leaf)
    else:
        b.backward(leaf)


def maybe_end_region(b: OpBuilder) -> None:
    """Where the framework takes functions as units, mostly a cut: between two results of one unit nothing may flow, so
    that what is about a value within a graph needs a unit on either side of it.
    """
    if b.alphabet.regions and b.below(4):
        end_region(b)


NONEMPTY = tuple(s for s in POOL if 0 not in s)

VIEW_OPS = (
    "reshape", "slice", "matrix_transpose", "expand_dims", "select", "diagonal", "transpose", "narrow", "permute_dims",
    "squeeze", "flatten", "moveaxis", "unflatten",
)  # fmt: skip
"""Ops that give one view, no two elements of which are one in memory."""

MULTI_VIEW_OPS = ("split", "unstack", "chunk", "tensor_split")
"""Ops that give several views."""


@lru_cache(maxsize=8)
def _without_views(weighted: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in weighted if name not in VIEWS)


def plain(b: ActionBuilder, value: Ref) -> Ref:
    """A value with memory of its own, made from `value` by a drawn op that can take it."""
    names = _without_views(tuple(b.alphabet.weighted))
    for _ in range(2 if names else 0):
        made = b.op(b.pick(names), on=value)[0]
        if value in operands(b.reference.steps[made.at]) and b.reference.values[made].size:
            return made
    return b.nonlinear(value)


def computed(b: ActionBuilder, *shapes: Shape, most: int = 2) -> Ref:
    """A value with memory of its own that requires grad and is no leaf, `most` ops or fewer from a leaf of one of
    the shapes.
    """
    value = b.leaf(b.pick(b.shapes(shapes or NONEMPTY)))
    for _ in range(b.below(most)):
        made = plain(b, value)
        value = made if b.requires(made) and (not shapes or b.shape(made) in shapes) else value
    return b.nonlinear(value)


def view(b: ActionBuilder, source: Ref, most: int = 2, several: bool = False) -> Ref:
    """A view of a value, by one to `most` view ops, each on the result of the one before; `several` lets in the ops
    that give several views.
    """
    names = b.available(*VIEW_OPS, *(MULTI_VIEW_OPS if several else ()))
    made = source
    for _ in range(1 + b.below(most)):
        fitting = [n for n in names if takes(b.alphabet.row(n), b.shape(made))]
        found = b.op(b.pick(fitting), on=made) if fitting else []
        found = [r for r in found if made in operands(b.reference.steps[r.at]) and b.reference.values[r].size]
        if not found:
            break
        made = b.pick(found)
    return made


def alias(b: ActionBuilder, source: Ref) -> Ref:
    """A value in the memory of another: a view of it, or it detached, or a view of that."""
    if not b.can(Capability.DETACH) or b.below(3):
        return view(b, source)
    detached = b.detach(source)
    return view(b, detached, 1) if b.below(2) else detached


LEAF_SHAPES: tuple[Shape, ...] = ((3,), (2,), (), (2, 3))


SMOOTH = ("multiply", "sin", "square", "sigmoid", "tanh", "exp")


def chain(b: OpBuilder, value: Ref, most: int = 3) -> Ref:
    """One to `most` smooth ops that save, each on the result of the one before; other ops where none is there."""
    smooth = [name for name in SMOOTH[:5] if name in b.alphabet.ops]
    for _ in range(1 + b.below(most)):
        value = b.nonlinear(value, b.pick(smooth)) if smooth else b.successor(value)
    return value


def among(b: OpBuilder, root: Ref) -> tuple[Ref, ...]:
    """The roots of a call on a value: mostly that alone; now and then beside one that is made from it, or from nothing
    that was there, before or after it.
    """
    if not b.can(Capability.MULTIPLE_ROOTS) or b.below(4) < 3:
        return (root,)
    other = b.successor(root) if b.below(2) else b.nonlinear(b.leaf(b.pick(b.shapes(LEAF_SHAPES))))
    return (root, other) if b.below(2) else (other, root)
