"""Gradients used as values, replaced, or stepped along: second derivatives, assignments, writes between two calls."""

from __future__ import annotations

from rules.catalogue import Needs
from rules.language import Ref, Shape, Step
from strategies.actor import Actor
from strategies.builder import Builder
from strategies.optimizing import plain
from strategies.situations.base import history, situation

SHAPES: tuple[Shape, ...] = ((3,), (2,), (), (2, 3))

SMOOTH = ("multiply", "sin", "square", "sigmoid", "tanh", "exp")


def chain(b: Builder, value: Ref, most: int = 3) -> Ref:
    """One to `most` smooth ops that save, each on the result of the one before."""
    for _ in range(1 + b.below(most)):
        value = b.nonlinear(value, b.pick(b.having(*SMOOTH[:5])))
    return value


@history
def second_derivatives(b: Actor) -> None:
    """A gradient computed with create_graph, used in a computation of its own, and walked; up to third order."""
    b.claims(Needs.CREATE_GRAPH, Needs.ASSIGNS)
    leaf = b.leaf(b.pick(SHAPES))
    root = chain(b, leaf)
    for _ in range(1 + b.below(2)):
        b.call(root, create=True)
        gradient = b.held(leaf)
        b.zero(leaf)
        root = chain(b, gradient, 1) if b.below(2) else gradient
    b.call(root)


@history
def plain_gradients(b: Actor) -> None:
    """A gradient computed without create_graph, retained or not, taken for a root."""
    b.claims(Needs.ASSIGNS)
    leaf = b.leaf(b.pick(SHAPES))
    keep = b.pick((None, True)) if b.can(Needs.RETAIN) else None
    b.call(chain(b, leaf), retain=keep)
    b.call(b.held(leaf), retain=keep)


@history
def assigned_gradients(b: Actor) -> None:
    """A gradient replaced, by another value or by none, and added to."""
    b.claims(Needs.ASSIGNS)
    leaf = b.leaf(b.pick(SHAPES))
    root = chain(b, leaf)
    b.call(root, retain=True if b.can(Needs.RETAIN) else None)
    given = b.leaf(b.shape(leaf), requires_grad=False)
    b.assign(leaf, None if b.below(4) == 3 or b.requires(given) else given)
    for _ in range(b.below(3)):
        if not b.can(Needs.RETAIN):
            root = chain(b, leaf)
        b.call(root, retain=True if b.can(Needs.RETAIN) else None)


@situation
def written_between(b: Builder) -> None:
    """A retained graph, a step on what it saved, and another walk: an error, or the gradient of what was recorded."""
    leaf = b.leaf(b.pick(SHAPES))
    root = chain(b, leaf)
    b.backward(root, retain=True)
    b.add(Step((leaf,), *plain(b)))
    b.backward(root, retain=b.pick((None, True)))


@situation
def written_unsaved(b: Builder) -> None:
    """A retained graph that needs nothing of the leaf that is stepped, walked again."""
    leaf = b.leaf(b.pick(SHAPES))
    value = leaf
    for _ in range(1 + b.below(3)):
        name = b.pick(b.having("negative", "add", "subtract"))
        value = b.apply(name, (value,) if name == "negative" else (value, leaf))[0]
    b.backward(value, retain=True)
    b.add(Step((leaf,), *plain(b)))
    b.backward(value, retain=b.pick((None, True)))
