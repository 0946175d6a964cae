"""Calls that have to be refused, and calls that fail on their way."""

from __future__ import annotations

from rules.catalogue import Needs
from strategies.builder import Builder
from strategies.draft import Undrawable
from strategies.situations.base import FREEING, joined, situation


@situation
def no_grad_roots(b: Builder) -> None:
    """A root that requires no grad, alone or among others."""
    root = b.leaf(requires_grad=False)
    if b.below(2):
        root = b.nonlinear(root)
    b.backward(*([b.root(2), root] if b.below(4) == 3 else [root]))


@situation
def implicit_cotangents(b: Builder) -> None:
    """A root that has not exactly one element, walked without a cotangent."""
    b.grow(0, 3)
    root = b.nonlinear(b.leaf(b.pick(((3,), (2,), (2, 3), (0,), (2, 1)))))
    b.backward(root, cotangents=[None])
    if b.below(2):
        b.backward(root)


@situation
def wrong_cotangents(b: Builder) -> None:
    """A cotangent of another shape, also one that would broadcast; then perhaps the right one."""
    if not b.can(Needs.COTANGENTS):
        raise Undrawable("the framework claims to take no cotangents")
    root = b.nonlinear(b.leaf(b.pick(((3,), (2,), (), (2, 3), (1,), (3, 2)))))
    shape = b.shape(root)
    others = [s for s in ((2,), (3,), (1,), (), (3, 2), (2, 3), (1, *shape), shape[::-1], shape[1:]) if s != shape]
    wrong = b.tensor(b.pick(others))
    b.backward(root, cotangents=[wrong], retain=b.pick((None, True)))
    if b.below(2):
        b.backward(root)


REFUSALS = (
    (Needs.NON_SCALAR_CHECK,),
    (Needs.COTANGENT_CHECK, Needs.COTANGENTS),
    (Needs.NO_GRAD_CHECK, Needs.DETACH, Needs.MULTIPLE_ROOTS),
)
"""What each way to have a call refused needs."""


@situation
def refused_after_gradients(b: Builder) -> None:
    """Leaves that hold gradients, a call that is refused for its arguments, and the legal call after it."""
    _refused(b, True)


@situation
def refused(b: Builder) -> None:
    """A call that is refused for its arguments, and the legal call after it, which may be the first that walks the
    graph.
    """
    _refused(b, bool(b.below(2)))


def _refused(b: Builder, walked: bool) -> None:
    refusals = [n for n, needs in enumerate(REFUSALS) if b.can(*needs)]
    if not refusals:
        raise Undrawable("the framework claims to refuse no call")
    root = b.nonlinear(b.leaf(b.pick(((3,), (2, 3), (2,)))))
    if walked:
        b.backward(root, retain=True)
    match b.pick(refusals):
        case 0:
            b.backward(root, cotangents=[None])
        case 1:
            b.backward(root, cotangents=[b.tensor((*b.shape(root), 2))])
        case _:
            b.backward(root, b.detach(root))
    b.backward(root, retain=b.pick((None, True)))


@situation
def failing_walks(b: Builder) -> None:
    """A call that meets a freed part of its graph after, or before, it has walked other parts."""
    freed = b.nonlinear(b.leaf((3,)))
    other = b.nonlinear(b.leaf((3,)))
    parts = [freed, other] if b.below(2) else [other, freed]
    whole = joined(b, [*parts, b.leaf((3,))] if b.below(2) else parts)
    b.backward(freed, retain=b.pick(FREEING))
    b.backward(whole, retain=b.pick((None, True)))
    if b.below(2):
        b.zero(*b.leaves)
        b.backward(other)
