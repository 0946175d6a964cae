"""One call fails, and the story goes on: other graphs work, gradients are old or complete, later calls are right."""

from __future__ import annotations

from collections.abc import Callable

from rules.catalogue import Needs
from rules.language import Ref
from strategies.actor import Actor
from strategies.draft import Undrawable
from strategies.situations.base import history, joined

SHAPES = ((3,), (2, 3), (), (2,))


def _freed(b: Actor, root: Ref, part: Ref) -> None:
    """A call that meets a freed part, perhaps after parts that are not."""
    b.call(part)
    b.call(root)


def _modified(b: Actor, root: Ref, part: Ref) -> None:
    """A call that meets a value that was written to since."""
    saved = b.nonlinear(part, b.pick(b.having("exp", "tanh", "sigmoid", "square", "multiply")))
    whole = joined(b, [root, saved] if b.below(2) else [saved, root])
    b.write(b.pick((part, saved)), b.pick(("mul_scalar_", "zero_", "add_scalar_")))
    b.call(whole)


def _raising(b: Actor, root: Ref, part: Ref) -> None:
    """A call that meets a hook that raises, or that returns a gradient of another shape."""
    handle = b.hook(part, b.pick(("raise", "misshape")))
    b.call(root, retain=True if b.can(Needs.RETAIN) else None)
    b.unhook(handle)


def _unused(b: Actor, root: Ref, part: Ref) -> None:
    """A functional call for an input that is not used."""
    b.grad([root], [b.leaf(b.pick(SHAPES)), *b.leaves[:1]], True if b.can(Needs.RETAIN) else None)


def _implicit(b: Actor, root: Ref, part: Ref) -> None:
    """A call without the cotangent that its root needs."""
    b.call(b.nonlinear(b.leaf((3,))), root, cotangents=[None, b.cotangent(root)])


def _rootless(b: Actor, root: Ref, part: Ref) -> None:
    """A call on what has no history."""
    b.call(b.nonlinear(b.detach(root)))


def _options(b: Actor, root: Ref, part: Ref) -> None:
    """A functional call with options that contradict each other."""
    b.grad([root], b.leaves[:1], unused=False, materialize=True)


def _inputless(b: Actor, root: Ref, part: Ref) -> None:
    """A call with an empty list of inputs."""
    b.call(root, inputs=[])


def _written_leaf(b: Actor, root: Ref, part: Ref) -> None:
    """A write to a leaf that requires grad."""
    b.write(b.leaves[0], "mul_scalar_")


FAILURES: tuple[tuple[Callable[[Actor, Ref, Ref], None], tuple[Needs, ...]], ...] = (
    (_freed, (Needs.FREES,)),
    (_modified, (Needs.WRITES,)),
    (_raising, (Needs.HOOKS,)),
    (_unused, (Needs.FUNCTIONAL,)),
    (_implicit, (Needs.NON_SCALAR_CHECK, Needs.MULTIPLE_ROOTS)),
    (_rootless, (Needs.NO_GRAD_CHECK, Needs.DETACH)),
    (_options, (Needs.FUNCTIONAL,)),
    (_inputless, (Needs.INPUTS,)),
    (_written_leaf, (Needs.WRITES, Needs.WRITE_CHECKS)),
)
"""Ways to fail, each with what it needs."""


@history
def resumed(b: Actor) -> None:
    """Leaves with or without gradients, a call that fails, and legal calls over other graphs and the same leaves."""
    ways = [fail for fail, needs in FAILURES if b.can(*needs)]
    if not ways:
        raise Undrawable("the framework claims to refuse nothing")
    leaves = [b.leaf(b.pick(SHAPES)) for _ in range(2)]
    parts = [b.nonlinear(leaf) for leaf in leaves]
    root = b.nonlinear(joined(b, parts))
    other = b.nonlinear(b.pick(leaves)) if b.below(2) else b.nonlinear(b.leaf(b.pick(SHAPES)))
    if b.below(2):
        b.call(b.nonlinear(b.pick(leaves)))
    for _ in range(1 + b.below(2)):
        b.pick(ways)(b, root, b.pick(parts))
        _go_on(b, leaves, other)


def _go_on(b: Actor, leaves: list[Ref], other: Ref) -> None:
    """A legal call or two: over a graph that is there and was not touched, over a new one, over the failed one anew."""
    if b.below(3) == 2:
        b.zero(*leaves, to_none=bool(b.below(2)))
    if b.walkable(other) and b.below(2):
        b.call(other, retain=True if b.can(Needs.RETAIN) else None)
    root = joined(b, [b.nonlinear(leaf) for leaf in leaves]) if b.below(2) else b.nonlinear(b.pick(leaves))
    match b.below(3):
        case 2 if b.can(Needs.FUNCTIONAL):
            b.grad([root], leaves[:1], unused=True)
        case _:
            b.call(b.beyond(root) if b.below(2) else root)
