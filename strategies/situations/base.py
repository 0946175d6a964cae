"""Decorators that make situations (strategies that draw programs for one rule), and functions that several situations
share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from inspect import signature

from hypothesis import strategies as st

from autograd_conformance.ops.rows.row import POOL, takes
from autograd_conformance.ops.tables import VIEWS
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Ref, Shape
from autograd_conformance.programs.operands import operands
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.building.randomness.choices import Choices, Draw

Programs = st.SearchStrategy[Drawn]

SITUATIONS: list[Callable[[], Programs]] = []
"""The situations without parameters of all modules that were imported."""

FREEING = (None, False)
"""The values of `retain_graph` with which a backward call frees its graph."""

SHAPES: tuple[Shape, ...] = ((3,), (2, 2), (2, 3), ())


def situation(write: Callable[..., None]) -> Callable[..., Programs]:
    """Makes a strategy of programs from a function that adds only ops, backward calls, and instructions that always
    return.
    """
    return _strategy(write, tracked=False)


def action_situation(write: Callable[..., None]) -> Callable[..., Programs]:
    """Makes a strategy of programs from a function that adds instructions of any kind. It can query the tape, the model
    of what a framework recorded.
    """
    return _strategy(write, tracked=True, varies=True)


def plain_situation(write: Callable[..., None]) -> Callable[..., Programs]:
    """Makes a strategy as `action_situation` does, for situations that need their backward calls as they are."""
    return _strategy(write, tracked=True)


def _strategy(write: Callable[..., None], tracked: bool, varies: bool = False) -> Callable[..., Programs]:
    @st.composite
    def drawn(draw: Draw, *args: object) -> Drawn:
        b = Draft(Choices(draw), tracked=tracked)
        b.actions.varies = varies
        b.begin()
        write(b, *args)
        return b.drawn()

    drawn.__name__, drawn.__doc__ = write.__name__, write.__doc__
    if len(signature(write).parameters) == 1:
        SITUATIONS.append(drawn)
    return drawn


def joined(b: Draft, values: Sequence[Ref]) -> Ref:
    """Combines values into one by ops such as `add`, after summing each value's elements if shapes or dtypes differ.
    Values of another dtype than the first are left out.
    """
    if len({(b.shape(v), b.dtypes[v]) for v in values}) > 1:
        values = [b.ops.summed(v) for v in values]
    made = values[0]
    for other in values[1:]:
        if b.dtypes[other] == b.dtypes[made]:
            made = b.ops.join(made, other)
    return made


def joined_roots(b: Draft, values: Sequence[Ref]) -> Sequence[Ref]:
    """Returns the roots of one backward call: one value that combines the given ones, or the given ones themselves if
    the framework has no op of two operands.
    """
    return (joined(b, values),) if b.alphabet.has_binary_op else values


def joining(b: Draft, names: Sequence[str], most: int = 3) -> Callable[[Ref, Ref], Ref]:
    """Returns a function that combines two values of one shape: by an op drawn from the first `most` of the named ones
    that the framework has, or by any op of two operands if it has none of them.
    """
    found = [name for name in names if name in b.alphabet.ops][:most]
    if not found:
        return b.ops.join
    name = b.pick(found)
    return lambda one, other: b.apply(name, (one, other))[0]


def negative(b: Draft) -> str | None:
    """Returns "negative", the simplest op that saves no tensor, or None if the framework does not have the op."""
    return "negative" if "negative" in b.alphabet.ops else None


def end_region(b: Draft) -> None:
    """Ends the current region (instructions that run as one compiled or checkpointed function) by clearing the gradient
    of an unrelated leaf or calling backward on it.
    """
    leaf = b.leaf_of(SHAPES)
    if b.can(Capability.ZERO_TO_NONE):
        b.actions.zero_grad(leaf)
    else:
        b.actions.backward(leaf)


def maybe_end_region(b: Draft) -> None:
    """In three cases of four, ends the current region (instructions that run as one compiled or checkpointed function),
    if the framework has regions. Values between two results of one region are not observable, so programs about a value
    inside a graph need a region on either side of the value.
    """
    if b.alphabet.regions and b.below(4):
        end_region(b)


NONEMPTY = tuple(s for s in POOL if 0 not in s)

VIEW_OPS = (
    "reshape", "slice", "matrix_transpose", "expand_dims", "select", "diagonal", "transpose", "narrow", "permute_dims",
    "squeeze", "flatten", "moveaxis", "unflatten",
)  # fmt: skip
"""View ops of one result whose elements do not overlap in memory."""

MULTI_VIEW_OPS = ("split", "unstack", "chunk", "tensor_split")
"""View ops of several results."""


@lru_cache(maxsize=8)
def _without_views(weighted: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in weighted if name not in VIEWS)


def unaliased(b: Draft, value: Ref) -> Ref:
    """Draws an op on `value`, and returns a result that shares no memory with `value`."""
    names = _without_views(tuple(b.alphabet.weighted))
    for _ in range(2 if names else 0):
        made = b.ops.draw(b.pick(names), on=value)[0]
        if value in operands(b.reference.steps[made.at]) and b.reference.values[made].size:
            return made
    return b.ops.nonlinear(value)


def computed(b: Draft, *shapes: Shape, most: int = 2) -> Ref:
    """Draws one to `most` ops in a row on a leaf of one of the shapes, and returns the last result, which requires grad
    and shares no memory with other values.
    """
    value = b.leaf_of(shapes or NONEMPTY)
    for _ in range(b.below(most)):
        made = unaliased(b, value)
        value = made if b.requires(made) and (not shapes or b.shape(made) in shapes) else value
    return b.ops.nonlinear(value)


def view(b: Draft, source: Ref, most: int = 2, several: bool = False) -> Ref:
    """Draws one to `most` view ops in a row, with `several` also ones of several results, and returns the last view;
    returns `source` if no view op fits.
    """
    names = b.available(*VIEW_OPS, *(MULTI_VIEW_OPS if several else ()))
    made = source
    for _ in range(1 + b.below(most)):
        fitting = [n for n in names if takes(b.alphabet.row(n), b.shape(made))]
        found = b.ops.draw(b.pick(fitting), on=made) if fitting else []
        found = [r for r in found if made in operands(b.reference.steps[r.at]) and b.reference.values[r].size]
        if not found:
            break
        made = b.pick(found)
    return made


def alias(b: Draft, source: Ref) -> Ref:
    """Draws a value that shares memory with another: a view of it, the value detached, or a view of that."""
    if not b.can(Capability.DETACH) or b.below(3):
        return view(b, source)
    detached = b.detach(source)
    return view(b, detached, 1) if b.below(2) else detached


LEAF_SHAPES: tuple[Shape, ...] = ((3,), (2,), (), (2, 3))


SMOOTH = ("multiply", "sin", "square", "sigmoid", "tanh", "exp")


def chain(b: Draft, value: Ref, most: int = 3) -> Ref:
    """Draws one to `most` smooth ops in a row that save tensors, and returns the last result. If the framework has none
    of these ops, others are drawn.
    """
    smooth = [name for name in SMOOTH[:5] if name in b.alphabet.ops]
    for _ in range(1 + b.below(most)):
        value = b.ops.nonlinear(value, b.pick(smooth)) if smooth else b.ops.successor(value)
    return value


def maybe_add_root(b: Draft, root: Ref) -> tuple[Ref, ...]:
    """Draws the roots of a backward call: mostly only `root`; one time in four also another value, before or after
    `root`, that is computed from `root` or from a fresh leaf.
    """
    if not b.can(Capability.MULTIPLE_ROOTS) or b.below(4) < 3:
        return (root,)
    other = b.ops.successor(root) if b.below(2) else b.ops.nonlinear(b.leaf_of(LEAF_SHAPES))
    return (root, other) if b.below(2) else (other, root)
