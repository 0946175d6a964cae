"""Gradients used as values, replaced, or stepped along: second derivatives, assignments, writes between two calls."""

from __future__ import annotations

from rules.catalogue import Needs
from rules.language import AssignGrad, Attrs, Backward, Held, Ref, Shape, Step
from strategies.builder import Builder
from strategies.draft import Undrawable
from strategies.situations.base import situation

SHAPES: tuple[Shape, ...] = ((3,), (2,), (), (2, 3))

OPTIMIZERS: tuple[tuple[str, Attrs], ...] = (
    ("sgd", (("lr", 0.125),)),
    ("sgd", (("lr", 0.125), ("momentum", 0.5))),
    ("sgd", (("lr", 0.125), ("momentum", 0.5), ("nesterov", True))),
    ("sgd", (("lr", 0.125), ("weight_decay", 0.25))),
    ("adam", (("lr", 0.125),)),
    ("adam", (("lr", 0.125), ("betas", (0.5, 0.75)), ("weight_decay", 0.25))),
)
"""Optimizers with settings large enough that a step shows."""

SMOOTH = ("multiply", "sin", "square", "sigmoid", "tanh", "exp")


def created(b: Builder, root: Ref) -> None:
    """A backward call that makes its gradients differentiable."""
    b.add(Backward((root,), (b.cotangent(root),), None, True))


def held(b: Builder, leaf: Ref) -> Ref:
    """The gradient that a leaf holds, as a value."""
    return Ref(b.add(Held(leaf)))


def chain(b: Builder, value: Ref, most: int = 3) -> Ref:
    """One to `most` smooth ops that save, each on the result of the one before."""
    for _ in range(1 + b.below(most)):
        value = b.nonlinear(value, b.pick(b.having(*SMOOTH[:5])))
    return value


@situation
def second_derivatives(b: Builder) -> None:
    """A gradient computed with create_graph, used in a computation of its own, and walked; up to third order."""
    leaf = b.leaf(b.pick(SHAPES))
    root = chain(b, leaf)
    for _ in range(1 + b.below(2)):
        created(b, root)
        gradient = held(b, leaf)
        b.zero(leaf)
        root = chain(b, gradient, 1) if b.below(2) else gradient
    b.backward(root)


@situation
def plain_gradients(b: Builder) -> None:
    """A gradient computed without create_graph, retained or not, taken for a root."""
    leaf = b.leaf(b.pick(SHAPES))
    b.backward(chain(b, leaf), retain=b.pick((None, True)))
    b.backward(held(b, leaf), retain=b.pick((None, True)))


@situation
def assigned_gradients(b: Builder) -> None:
    """A gradient replaced, by another value or by none, and added to."""
    leaf = b.leaf(b.pick(SHAPES))
    root = chain(b, leaf)
    b.backward(root, retain=True)
    given = b.leaf(b.shape(leaf), requires_grad=False)
    b.add(AssignGrad(leaf, None if b.below(4) == 3 else given))
    for _ in range(b.below(3)):
        b.backward(root, retain=True)


def _stepped(b: Builder, leaves: list[Ref], settings: tuple[str, Attrs]) -> None:
    if not b.can(Needs.OPTIMIZERS):
        raise Undrawable("the framework claims no optimizers")
    b.add(Step(tuple(leaves), *settings))


@situation
def steps(b: Builder) -> None:
    """One to four iterations of forward, backward and step, some without clearing, some leaves without a gradient."""
    leaves = [b.leaf(b.pick(SHAPES)) for _ in range(1 + b.below(2))]
    settings = b.pick(OPTIMIZERS)
    for _ in range(1 + b.below(4)):
        b.backward(chain(b, b.pick(leaves), 2))
        _stepped(b, leaves, settings)
        if b.below(2):
            b.zero(*leaves, to_none=not b.below(2))


@situation
def written_between(b: Builder) -> None:
    """A retained graph, a step on what it saved, and another walk: an error, or the gradient of what was recorded."""
    leaf = b.leaf(b.pick(SHAPES))
    root = chain(b, leaf)
    b.backward(root, retain=True)
    _stepped(b, [leaf], b.pick(OPTIMIZERS))
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
    _stepped(b, [leaf], b.pick(OPTIMIZERS))
    b.backward(value, retain=b.pick((None, True)))
