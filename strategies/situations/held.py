"""Gradients as objects: added to in place or replaced, seen through references, clipped, assigned, and laid out."""

from __future__ import annotations

from rules.catalogue import Needs
from rules.language import Ref
from rules.ops import OPS
from rules.ops.op import takes
from strategies.actor import Actor
from strategies.optimizing import plain
from strategies.situations.base import history, joined
from strategies.situations.parts import view
from strategies.situations.stateful import chain

SHAPES = ((3,), (2, 3), (), (2, 2))


def _again(b: Actor, leaf: Ref, root: Ref) -> Ref:
    """A root that leads to a leaf and can be walked: the same one where it was retained, or a new one."""
    return root if b.can(Needs.RETAIN) and b.below(2) else b.nonlinear(leaf)


@history
def added_in_place(b: Actor) -> None:
    """References to the gradient that a leaf holds, and calls that add to it: the references see the sum."""
    b.claims(Needs.ASSIGNS)
    leaf = b.leaf(b.pick(SHAPES))
    root = chain(b, leaf)
    keep = True if b.can(Needs.RETAIN) else None
    b.call(root, retain=keep)
    held = b.held(leaf)
    for _ in range(1 + b.below(2)):
        b.call(_again(b, leaf, root), retain=keep)
        if b.below(2):
            b.nonlinear(held)
        if b.below(4) == 3:
            b.zero(leaf, to_none=bool(b.below(2)))
            b.call(b.nonlinear(leaf))


@history
def replaced_gradients(b: Actor) -> None:
    """A leaf that holds a gradient, and a call with create_graph: a new object, and the old one as it was."""
    b.claims(Needs.CREATE_GRAPH, Needs.ASSIGNS)
    leaf = b.leaf(b.pick(SHAPES))
    root = chain(b, leaf)
    keep = True if b.can(Needs.RETAIN) else None
    b.call(root, retain=keep, create=bool(b.below(2)))
    held = b.held(leaf)
    b.call(_again(b, leaf, root), create=True)
    b.nonlinear(held) if b.below(2) else b.held(leaf)
    if b.below(2):
        b.call(_again(b, leaf, root), create=bool(b.below(2)))


@history
def laid_out(b: Actor) -> None:
    """Leaves of every layout: as they were made, or detached from a view that is transposed, spread or one of many."""
    leaf = b.leaf(b.pick(((3,), (2, 3), (2, 2, 3), (3, 2))))
    if b.can(Needs.SWITCHES, Needs.DETACH, Needs.VIEWS) and b.below(4):
        names = ("matrix_transpose", "permute_dims", "slice", "broadcast_to", "select", "diagonal", "expand_dims")
        fitting = [n for n in b.having(*names) if takes(OPS[n], b.shape(leaf))]
        seen = b.op(b.pick(fitting), on=leaf)[0] if fitting and b.below(3) else view(b, leaf)
        leaf = b.detach(seen)
        b.switch(leaf, True)
    if not b.reference.values[leaf].size:
        return
    root = b.beyond(leaf) if b.below(2) else b.nonlinear(leaf)
    root = b.beyond(root) if b.below(2) else root
    b.call(root)
    if b.below(3) == 2:
        b.call(b.nonlinear(leaf))


@history
def misfit_gradients(b: Actor) -> None:
    """A gradient of another shape, also one that would broadcast, assigned: refused; a fitting one after it."""
    b.claims(Needs.ASSIGNS, Needs.CONSTANTS)
    leaf = b.leaf(b.pick(((3,), (2, 3), (), (2,))))
    root = chain(b, leaf)
    if b.below(2):
        b.call(root, retain=True if b.can(Needs.RETAIN) else None)
    shape = b.shape(leaf)
    others = [s for s in ((2,), (3,), (1,), (), (3, 2), (1, *shape), shape[::-1], shape[1:]) if s != shape]
    b.assign(leaf, b.leaf(b.pick(others), requires_grad=False))
    if b.below(2):
        b.assign(leaf, b.leaf(shape, requires_grad=False))
    b.call(_again(b, leaf, root))


@history
def assigned_objects(b: Actor) -> None:
    """A gradient that is assigned: a constant, what another leaf holds, a part of something; added to and written to
    afterwards.
    """
    b.claims(Needs.ASSIGNS, Needs.CONSTANTS)
    leaf, other = (b.leaf(b.pick(SHAPES)) for _ in range(2))
    root = joined(b, [chain(b, leaf), chain(b, other)])
    keep = True if b.can(Needs.RETAIN) else None
    if b.below(2):
        b.call(root, retain=keep)
    match b.below(4):
        case 3 if b.holds(other) and b.shape(other) == b.shape(leaf):
            given = b.held(other)
        case 2 if b.can(Needs.DETACH):
            given = b.detach(leaf)
        case _:
            given = b.leaf(b.shape(leaf), requires_grad=False)
    b.assign(leaf, given)
    if b.can(Needs.WRITES) and b.below(2):
        b.write(given if b.below(2) and b.reference.is_leaf(given) else b.held(leaf), "mul_scalar_")
    for _ in range(b.below(3)):
        b.call(_again(b, leaf, root), retain=keep)


@history
def clipped_gradients(b: Actor) -> None:
    """What a training loop does between backward and step: the gradient is scaled or clipped in place, then used."""
    b.claims(Needs.ASSIGNS, Needs.WRITES, Needs.MODES)
    leaf = b.leaf(b.pick(SHAPES))
    optimizer = plain(b) if b.can(Needs.OPTIMIZERS) else None
    for _ in range(1 + b.below(3)):
        b.call(chain(b, leaf, 2))
        held = b.held(leaf)
        with b.under("no_grad"):
            b.write(held, b.pick(("mul_scalar_", "clamp_", "mul_", "zero_", "add_")))
        if optimizer is not None:
            b.step([leaf], *optimizer)
        if b.below(2):
            b.zero(leaf, to_none=bool(b.below(2)))
