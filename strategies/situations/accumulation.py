"""Programs drawn for the rules about `.grad`: gradients that are accumulated, cleared, assigned, replaced or clipped,
and leaves that the root does not depend on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf, nan

from autograd_conformance.ops.rows.row import takes
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Ref
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.building.optimizers import plain_optimizer
from autograd_conformance.strategies.situations.base import (
    LEAF_SHAPES,
    action_situation,
    chain,
    joined,
    joining,
    situation,
    view,
)


@situation
def accumulations(b: Draft) -> None:
    """Draws two to five backward calls that retain their graph, on one root or on several, so that gradients accumulate
    in leaves.
    """
    root = b.ops.root()
    b.actions.backward(root, retain=True)
    for _ in range(1 + b.below(4)):
        if b.below(3) == 2:
            root = b.ops.root(2)
        b.actions.backward(root, retain=True)


def _cleared(to_none: bool) -> Callable[[Draft], None]:
    def write(b: Draft) -> None:
        root = b.ops.root(3)
        b.actions.backward(root, retain=True)
        leaves = [leaf for leaf in b.script.leaves if b.requires(leaf)]
        if b.can(Capability.COTANGENTS) and b.below(6) == 5:  # infinite and NaN gradients are cleared to zeros, too
            leaf = leaves[0]
            infinite = b.operands.tensor(b.shape(leaf), b.dtypes[leaf])
            b.actions.backward(
                leaf, cotangents=[replace(infinite, data=tuple(x * inf if x else nan for x in infinite.data))]
            )
        b.actions.zero_grad(*leaves[: 1 + b.below(len(leaves))], to_none=to_none)
        for _ in range(b.below(3)):
            b.actions.backward(root, retain=True)
            if b.below(2):
                b.actions.zero_grad(b.pick(leaves), to_none=to_none)

    write.__name__ = "cleared_to_none" if to_none else "cleared_to_zeros"
    kind = "none" if to_none else "zeros"
    write.__doc__ = (
        f"Draws a backward call, clearing of some gradients, perhaps infinite ones, to {kind}, and further calls."
    )
    return write


cleared_to_none = situation(_cleared(True))
cleared_to_zeros = situation(_cleared(False))


@situation
def unreached_leaves(b: Draft) -> None:
    """Draws a backward call on a root that does not depend on some leaf, which may have a gradient from an earlier
    call.
    """
    other = b.leaf()
    if b.below(2):
        b.actions.backward(b.ops.nonlinear(other), cotangents=None)
    start = b.leaf()
    b.actions.backward(b.ops.successor(b.ops.nonlinear(start)), retain=b.pick((None, True)))


@situation
def constant_leaves(b: Draft) -> None:
    """Draws an op with one operand that requires grad and one that does not, and a backward call on its result."""
    value = b.ops.required()
    constant = b.leaf(b.shape(value), requires_grad=False)
    if b.dtypes[constant] != b.dtypes[value]:
        constant = b.leaf(value=b.operands.tensor(b.shape(value), b.dtypes[value]), requires_grad=False)
    calm = [name for name in ("negative", "sin", "tanh") if name in b.alphabet.ops]
    if b.below(2) and calm:
        constant = b.apply(b.pick(calm), (constant,))[0]
    join = joining(b, ("multiply", "add", "subtract"))
    made = join(value, constant) if b.below(2) == 0 else join(constant, value)
    b.actions.backward(b.ops.successor(made) if b.below(2) else made)


SHAPES = ((3,), (2, 3), (), (2, 2))


def _callable_root(b: Draft, leaf: Ref, root: Ref) -> Ref:
    """Returns a root that depends on `leaf` and on which backward may be called: `root`, whose graph was retained, or a
    new one.
    """
    return root if b.can(Capability.RETAIN) and b.below(2) else b.ops.nonlinear(leaf)


@action_situation
def added_in_place(b: Draft) -> None:
    """Draws a leaf whose `.grad` is also kept as a value, and further backward calls, which add to `.grad` in place, so
    that the kept value becomes the sum.
    """
    b.require(Capability.ASSIGNS)
    leaf = b.leaf_of(SHAPES)
    root = chain(b, leaf)
    keep = True if b.can(Capability.RETAIN) else None
    b.actions.backward(root, retain=keep)
    grad = b.actions.read_grad(leaf)
    for _ in range(1 + b.below(2)):
        b.actions.backward(_callable_root(b, leaf, root), retain=keep)
        if b.below(2):
            b.ops.nonlinear(grad)
        if b.below(4) == 3:
            b.actions.zero_grad(leaf, to_none=bool(b.below(2)))
            b.actions.backward(b.ops.nonlinear(leaf))


@action_situation
def replaced_gradients(b: Draft) -> None:
    """Draws a leaf with a gradient, and a backward call with create_graph, which makes `.grad` a new object and leaves
    the old one unchanged.
    """
    b.require(Capability.CREATES_IN_LEAVES, Capability.ASSIGNS)
    leaf = b.leaf_of(SHAPES)
    root = chain(b, leaf)
    keep = True if b.can(Capability.RETAIN) else None
    b.actions.backward(root, retain=keep, create=bool(b.below(2)))
    grad = b.actions.read_grad(leaf)
    b.actions.backward(_callable_root(b, leaf, root), create=True)
    b.ops.nonlinear(grad) if b.below(2) else b.actions.read_grad(leaf)
    if b.below(2):
        b.actions.backward(_callable_root(b, leaf, root), create=bool(b.below(2)))


@action_situation
def layouts(b: Draft) -> None:
    """Draws backward calls that give a gradient to a leaf of any memory layout: contiguous, or detached from a view
    that is transposed, strided or expanded.
    """
    b.alphabet.require_absent_grad()
    leaf = b.leaf_of(((3,), (2, 3), (2, 2, 3), (3, 2)))
    if b.can(Capability.SWITCHES, Capability.DETACH, Capability.VIEWS) and b.below(4):
        names = ("matrix_transpose", "permute_dims", "slice", "broadcast_to", "select", "diagonal", "expand_dims")
        fitting = [n for n in b.available(*names) if takes(b.alphabet.row(n), b.shape(leaf))]
        viewed = b.ops.draw(b.pick(fitting), on=leaf)[0] if fitting and b.below(3) else view(b, leaf)
        leaf = b.detach(viewed)
        b.actions.set_requires_grad(leaf, True)
    if not b.reference.values[leaf].size:
        return
    root = b.ops.successor(leaf) if b.below(2) else b.ops.nonlinear(leaf)
    root = b.ops.successor(root) if b.below(2) else root
    b.actions.backward(root)
    if b.below(3) == 2:
        b.actions.backward(b.ops.nonlinear(leaf))


@action_situation
def misshapen_gradients(b: Draft) -> None:
    """Draws an assignment to `.grad` of a value of another shape, even one that would broadcast, which is rejected;
    then perhaps one of the leaf's shape.
    """
    b.require(Capability.ASSIGNS, Capability.CONSTANTS)
    leaf = b.leaf_of(((3,), (2, 3), (), (2,)))
    root = chain(b, leaf)
    if b.below(2):
        b.actions.backward(root, retain=True if b.can(Capability.RETAIN) else None)
    shape = b.shape(leaf)
    others = [s for s in ((2,), (3,), (1,), (), (3, 2), (1, *shape), shape[::-1], shape[1:]) if s != shape]
    b.actions.assign_grad(leaf, b.leaf_of(others, requires_grad=False))
    if b.below(2):
        b.actions.assign_grad(leaf, b.leaf(shape, requires_grad=False))
    b.actions.backward(_callable_root(b, leaf, root))


@action_situation
def assigned_objects(b: Draft) -> None:
    """Draws an assignment to `.grad` of a constant, another leaf's gradient or a detached value, perhaps an in-place
    change of that value, and backward calls that add to `.grad`.
    """
    b.require(Capability.ASSIGNS, Capability.CONSTANTS)
    leaf, other = (b.leaf_of(SHAPES) for _ in range(2))
    root = joined(b, [chain(b, leaf), chain(b, other)])
    keep = True if b.can(Capability.RETAIN) else None
    if b.below(2):
        b.actions.backward(root, retain=keep)
    match b.below(4):
        case 3 if b.actions.holds_grad(other) and b.shape(other) == b.shape(leaf):
            given = b.actions.read_grad(other)
        case 2 if b.can(Capability.DETACH):
            given = b.detach(leaf)
        case _:
            given = b.leaf(b.shape(leaf), requires_grad=False)
    b.actions.assign_grad(leaf, given)
    if b.can(Capability.WRITES) and b.below(2):
        b.writes.to(
            given if b.below(2) and b.reference.tape.is_leaf(given) else b.actions.read_grad(leaf), "mul_scalar_"
        )
    for _ in range(b.below(3)):
        b.actions.backward(_callable_root(b, leaf, root), retain=keep)


@action_situation
def clipped_gradients(b: Draft) -> None:
    """Draws iterations of a training loop in which gradients are changed in place, such as scaled or clamped, between
    backward and an optimizer's step.
    """
    b.require(Capability.ASSIGNS, Capability.WRITES, Capability.MODES)
    leaf = b.leaf_of(SHAPES)
    optimizer = plain_optimizer(b) if b.can(Capability.OPTIMIZERS) else None
    for _ in range(1 + b.below(3)):
        b.actions.backward(chain(b, leaf, 2))
        grad = b.actions.read_grad(leaf)
        with b.under("no_grad"):
            b.writes.to(grad, b.pick(("mul_scalar_", "clamp_", "mul_", "zero_", "add_")))
        if optimizer is not None:
            b.actions.step([leaf], *optimizer)
        if b.below(2):
            b.actions.zero_grad(leaf, to_none=bool(b.below(2)))


@action_situation
def assigned_gradients(b: Draft) -> None:
    """Draws an assignment to `.grad` of another value or None, and up to two backward calls that add to `.grad`."""
    b.require(Capability.ASSIGNS)
    leaf = b.leaf_of(LEAF_SHAPES)
    root = chain(b, leaf)
    b.actions.backward(root, retain=True if b.can(Capability.RETAIN) else None)
    given = b.leaf(b.shape(leaf), requires_grad=False)
    b.actions.assign_grad(leaf, None if b.below(4) == 3 or b.requires(given) else given)
    for _ in range(b.below(3)):
        if not b.can(Capability.RETAIN):
            root = chain(b, leaf)
        b.actions.backward(root, retain=True if b.can(Capability.RETAIN) else None)
