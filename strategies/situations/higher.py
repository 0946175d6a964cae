"""Programs drawn for the rules about higher-order gradients, up to the third order, from `.grad` and from functional
calls.
"""

from __future__ import annotations

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Ref
from autograd_conformance.programs.operands import operands
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.situations.base import LEAF_SHAPES, action_situation, chain, joined

SHAPES = ((3,), (2,), (), (2, 2))
SMOOTH = ("multiply", "sin", "square", "sigmoid", "tanh", "exp", "cos")
"""Ops that save tensors and have moderate derivatives of every order."""

MOVING = ("sum", "reshape", "matrix_transpose", "expand_dims", "mean", "negative", "slice", "select", "concat", "clone")
"""Ops whose derivatives only move or scale elements."""

JOINING = ("multiply", "matmul", "add", "subtract", "linear")


def _step(b: Draft, value: Ref, leaves: list[Ref]) -> Ref:
    """Applies one op of a kind whose higher derivatives have small rounding errors: one that moves elements, a product
    with a leaf, or a smooth op.
    """
    kind = b.below(4)
    able = b.alphabet.third_order.ops
    moving = [n for n in MOVING if n in able]
    if kind == 3 and moving:
        made = b.ops.draw(b.pick(moving), on=value)[0]
        fine = value in operands(b.reference.steps[made.at]) and b.requires(made) and b.reference.values[made].size
        return made if fine else value
    other = b.pick(leaves)
    joins = [n for n in JOINING[:1] if n in able and b.shape(other) == b.shape(value)]
    if kind == 2 and joins and b.dtypes[other] == b.dtypes[value]:
        return b.apply(joins[0], (value, other))[0]
    if kind == 1 and "matmul" in able and b.shape(value) == (2, 2) == b.shape(other):
        return b.apply("matmul", (value, other))[0]
    return _smooth(b, value)


def _smooth(b: Draft, value: Ref) -> Ref:
    """Applies a smooth op to a value; if the value is large, `sin` or `cos`, because with other ops rounding errors
    would dominate.
    """
    large = abs(b.reference.values[value]).max() > 2.5
    able = [n for n in SMOOTH if n in b.alphabet.third_order.ops]
    return b.ops.nonlinear(value, b.pick(b.available(*([n for n in ("sin", "cos") if n in able] if large else able))))


def _smooth_function(b: Draft, leaves: list[Ref], most: int = 3) -> Ref:
    """Draws a value that depends on all leaves by a few smooth ops."""
    made = joined(b, [_step(b, leaf, leaves) for leaf in leaves])
    for _ in range(b.below(most)):
        made = _step(b, made, leaves)
    return _smooth(b, made)


@action_situation
def derivatives_of_grads(b: Draft) -> None:
    """Draws backward calls with create_graph after which a leaf's `.grad` is used and differentiated, up to the third
    order.
    """
    b.require(Capability.CREATES_IN_LEAVES, Capability.ASSIGNS, Capability.ZERO_TO_NONE)
    leaves = [b.leaf_of(SHAPES) for _ in range(1 + b.below(2))]
    root = _smooth_function(b, leaves)
    for _ in range(1 + b.below(2)):
        b.actions.backward(root, create=True)
        gradient = b.actions.read_grad(b.pick(leaves))
        if b.below(3):
            b.actions.zero_grad(*leaves)
        root = joined(b, [gradient, root]) if b.below(4) == 3 else gradient
        root = _step(b, root, leaves) if b.below(2) else root
    b.actions.backward(root, retain=True if b.can(Capability.RETAIN) and b.below(2) else None)


@action_situation
def functional_derivatives(b: Draft) -> None:
    """Draws functional calls with create_graph whose gradients are differentiated again, up to the third order."""
    b.require(Capability.CREATE_GRAPH, Capability.FUNCTIONAL)
    leaves = [b.leaf_of(SHAPES) for _ in range(1 + b.below(2))]
    root = _smooth_function(b, leaves)
    for _ in range(1 + b.below(2)):
        inputs = leaves if b.below(2) else leaves[:1]
        made = [r for r in b.actions.grad([root], inputs, create=True, unused=True) if b.requires(r)]
        if not made:
            break
        root = joined(b, made) if b.below(2) else made[0]
        root = _step(b, root, leaves) if b.below(2) else root
    if b.below(2):
        b.actions.grad([root], leaves, create=bool(b.below(2)), unused=True)
    else:
        b.actions.backward(root)


@action_situation
def penalised_gradients(b: Draft) -> None:
    """Draws a gradient penalty: the squares of gradients are added to the loss, and backward is called on the sum."""
    b.require(Capability.CREATE_GRAPH, Capability.FUNCTIONAL)
    leaves = [b.leaf_of(SHAPES) for _ in range(1 + b.below(2))]
    loss = _smooth_function(b, leaves)
    if b.below(3) == 2 and b.can(Capability.HOOKS):
        b.actions.hook(b.pick(leaves), "scale", 2.0)
    made = [r for r in b.actions.grad([loss], leaves, create=True, unused=True) if b.requires(r)]
    penalties = [b.ops.nonlinear(r, b.available("square", "multiply")[0]) for r in made]
    b.actions.backward(joined(b, [loss, *penalties]))


@action_situation
def created_graphs(b: Draft) -> None:
    """Draws a functional call with create_graph, which retains its graph unless retain_graph is False, and further
    calls on that graph and on the gradient's graph.
    """
    b.require(Capability.CREATE_GRAPH, Capability.FUNCTIONAL, Capability.RETAIN)
    leaves = [b.leaf_of(SHAPES) for _ in range(1 + b.below(2))]
    root = _smooth_function(b, leaves)
    made = [r for r in b.actions.grad([root], leaves[:1], b.pick((None, True, False)), True) if b.requires(r)]
    for again in [*made, root, *made][: 1 + b.below(3)]:
        b.actions.grad([again], leaves, b.pick((None, True)), unused=True)


@action_situation
def plain_results(b: Draft) -> None:
    """Draws a backward call on a gradient from a functional call without create_graph, or on a value computed from the
    gradient; both have no history.
    """
    b.require(Capability.FUNCTIONAL)
    leaves = [b.leaf_of(SHAPES) for _ in range(1 + b.below(2))]
    root = _smooth_function(b, leaves)
    made = b.actions.grad([root], leaves[:1], b.pick((None, True)) if b.can(Capability.RETAIN) else None)
    if made:
        b.actions.backward(b.ops.nonlinear(made[0]) if b.below(6) == 5 else made[0])
    b.actions.backward(b.ops.nonlinear(leaves[0]))


@action_situation
def second_derivatives(b: Draft) -> None:
    """Draws backward calls with create_graph after which a leaf's `.grad` is used in a computation and differentiated,
    up to the third order.
    """
    b.require(Capability.CREATES_IN_LEAVES, Capability.ASSIGNS)
    leaf = b.leaf_of(LEAF_SHAPES)
    root = chain(b, leaf)
    for _ in range(1 + b.below(2)):
        b.actions.backward(root, create=True)
        gradient = b.actions.read_grad(leaf)
        b.actions.zero_grad(leaf)
        root = chain(b, gradient, 1) if b.below(2) else gradient
    b.actions.backward(root)


@action_situation
def plain_gradients(b: Draft) -> None:
    """Draws a backward call on a gradient that was computed without create_graph, with or without retain_graph."""
    b.require(Capability.ASSIGNS)
    leaf = b.leaf_of(LEAF_SHAPES)
    keep = b.pick((None, True)) if b.can(Capability.RETAIN) else None
    b.actions.backward(chain(b, leaf), retain=keep)
    b.actions.backward(b.actions.read_grad(leaf), retain=keep)
