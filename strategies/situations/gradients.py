"""Programs drawn for the rules about gradients: of single ops, and of graphs with fan-out, repeated operands, several
results or roots, or equal leaves.
"""

from __future__ import annotations

from autograd_conformance.ops.rows.row import takes
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Apply, Leaf, Literal
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.building.layouts import LAYOUTS, Layout
from autograd_conformance.strategies.situations.base import joined, joined_roots, situation

SEVERAL = ("split", "unstack", "chunk", "slogdet", "tensor_split")
"""Ops with several results."""

SLICING = ("slice", "narrow", "select", "take", "gather", "unfold", "diagonal", "tril")
"""Ops that return a part of their operand, selected by their attributes."""

ALL_LAYOUTS: tuple[Layout | None, ...] = (None, *LAYOUTS)
"""All memory layouts of operands, such as "transposed"; None is contiguous."""


@situation
def single_ops(b: Draft, name: str) -> None:
    """Draws the op called `name` on fresh operands, and a backward call on its results or on one of them. With
    probability one half, operands and cotangents have drawn memory layouts.
    """
    if name in b.alphabet.ops and b.below(2):  # a faulty op gets contiguous operands only
        b.operands.layouts = ALL_LAYOUTS
    made = b.ops.draw(name, fresh=True)
    for _ in range(2):  # `op` replaces draws with too large results or tied operands
        if getattr(b.reference.steps[made[0].at], "op", None) == name:
            break
        made = b.ops.draw(name, fresh=True)
    if not b.requires(made[0]):
        return
    roots = made if len(made) == 1 or b.below(2) == 0 else [b.pick(made)]
    b.actions.backward(*(b.operands.with_cotangent_layout(root, b.pick(b.operands.layouts)) for root in roots))


@situation
def lone_ops(b: Draft) -> None:
    """Draws any op on new leaves, all of which require grad, and a backward call on one of its results."""
    b.operands.requiring = (True,)
    made = b.ops.draw(fresh=True)
    if b.requires(made[0]):
        b.actions.backward(b.pick(made))


@situation
def whole_graphs(b: Draft) -> None:
    """Draws a graph of one to twelve ops, and a backward call on a value, mostly one of the newest."""
    b.leaf()
    b.ops.grow(1, 12)
    root = b.choices.recent(b.script.op_results() or [b.leaf()])
    b.actions.backward(root)


@situation
def chains(b: Draft) -> None:
    """Draws a chain of four to sixteen ops, and a backward call on its end."""
    value = b.leaf_of(((3,), (2, 3), (), (2, 2)))
    for _ in range(4 + b.below(13)):
        value = b.ops.successor(value)
    b.actions.backward(value)


@situation
def fan_outs(b: Draft) -> None:
    """Draws a value that is used two to ten times, and a backward call on the uses joined by ops, or on one of them.
    Sometimes the uses are slices of the value that may overlap.
    """
    value = b.ops.required() if b.below(2) else b.ops.nonlinear(b.ops.required())
    cutting = [name for name in SLICING if name in b.alphabet.ops and takes(b.alphabet.row(name), b.shape(value))]
    if cutting and b.below(3) == 2:
        name = b.pick(cutting)
        parts = [b.ops.draw(name, on=value)[0] for _ in range(2 + b.below(3))]
        parts = [part for part in parts if b.requires(part)] or [value]
        b.actions.backward(*joined_roots(b, [b.ops.nonlinear(part) for part in parts] if b.below(2) else parts))
        return
    uses = [b.ops.successor(value) for _ in range(2 + b.below(9))]
    b.actions.backward(*(joined_roots(b, uses) if b.below(4) < 3 else (b.choices.recent(uses),)))


@situation
def same_arguments(b: Draft) -> None:
    """Draws an op with the same value as both operands, inside a larger graph, and a backward call."""
    b.ops.grow(0, 3)
    value = b.ops.required()
    pairs = [n for n in ("multiply", "add", "subtract", "atan2", "hypot") if n in b.alphabet.ops]
    pairs = [name for name in pairs if b.ops.fits(name, (value, value))]
    if not pairs:
        b.actions.backward(b.ops.join(value, value))
        return
    made = b.apply(b.pick(pairs), (value, value))[0]
    b.actions.backward(b.ops.successor(made) if b.below(2) else made)


@situation
def one_op_again(b: Draft) -> None:
    """Draws one op two to four times on operands of equal shapes, with equal and different attributes, and backward
    calls on the results. Results cached for one application must not appear in another.
    """
    made = b.ops.draw(fresh=True)
    step = b.reference.steps[made[0].at]
    if not isinstance(step, Apply) or step.op not in OPS:
        return
    row, shapes = b.alphabet.row(step.op), [b.shape(r) for r in step.args]
    roots = [made[0]]
    for _ in range(1 + b.below(3)):
        attrs = b.pick(b.alphabet.attributes(step.op, *map(b.shape, step.args)))
        roots.append((b.ops.form(row, shapes, attrs) if b.below(2) else b.ops.checked(row, step.args, attrs))[0])
    roots = [root for root in roots if b.requires(root)]
    if roots and b.can(Capability.MULTIPLE_ROOTS) and b.below(2):
        b.actions.backward(*roots)
        return
    for root in reversed(roots) if b.below(2) else roots:
        b.actions.backward(root, retain=True)


@situation
def several_results(b: Draft) -> None:
    """Draws an op with several results, and a backward call whose root uses one, some or all of the results."""
    b.available(*SEVERAL)
    made = b.ops.draw(b.pick([n for n in b.alphabet.ops if n in SEVERAL]), on=b.ops.required())
    chosen = [r for r in made if b.requires(r)][: 1 + b.below(len(made))]
    if not chosen:
        return
    roots = [b.ops.successor(r) if b.below(2) else r for r in chosen]
    if b.can(Capability.MULTIPLE_ROOTS) and b.below(2):
        b.actions.backward(*roots)
    else:
        b.actions.backward(joined(b, roots))


@situation
def several_roots(b: Draft) -> None:
    """Draws one backward call on two or three roots, some of which share a subgraph or are the same."""
    first = b.ops.root()
    second = b.pick([b.ops.successor(first), first, b.ops.root(2)] if b.below(2) else [b.ops.successor(first)])
    roots = [first, second] + ([b.choices.recent(b.script.op_results())] if b.below(3) == 2 else [])
    b.actions.backward(*roots)


@situation
def weighted_roots(b: Draft) -> None:
    """Draws a backward call with a cotangent that is not all ones."""
    root = b.ops.root()
    shape = b.shape(root)
    value = b.operands.tensor(shape, b.dtypes[root])
    data = tuple(2.0 if n == 0 and x == 1.0 else x for n, x in enumerate(value.data))
    b.actions.backward(root, cotangents=[Literal(data, shape, b.dtypes[root])])


@situation
def equal_leaves(b: Draft) -> None:
    """Draws two leaves with equal values that reach the root of a backward call on different paths."""
    first = b.leaf_of(((3,), (2,), (), (2, 3)))
    step = b.reference.steps[first.at]
    assert isinstance(step, Leaf)
    second = b.leaf(value=step.value)
    left = b.ops.nonlinear(first)
    right = b.ops.successor(second) if b.below(2) else second
    b.actions.backward(*joined_roots(b, [left, right]))


@situation
def shared_contributions(b: Draft) -> None:
    """Draws two or three leaves that mostly receive the same gradient, which an implementation might return as one
    shared object.
    """
    shape = b.pick(b.alphabet.shapes(((3,), (), (2, 3), (1,))))
    leaves = [b.leaf(shape) for _ in range(2 + b.below(2))]
    made = joined(b, leaves) if b.below(3) < 2 else joined(b, [b.ops.successor(leaf) for leaf in leaves])
    b.actions.backward(b.ops.successor(made) if b.below(2) else made, retain=True)
    if b.below(2):
        b.actions.backward(b.pick(leaves))


@situation
def forms(b: Draft) -> None:
    """Draws a leaf of any rank, perhaps with dimensions of size zero or one, and a backward call on a value that few
    ops compute from it.
    """
    shapes = ((), (1,), (0,), (2, 1), (0, 3), (2, 2, 3), (1, 2, 1, 2), (2, 3))
    value = b.leaf_of(shapes)
    made = b.ops.nonlinear(value) if b.below(2) else b.ops.successor(value)
    b.actions.backward(b.ops.successor(made) if b.below(2) else made)
