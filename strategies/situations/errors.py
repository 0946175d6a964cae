"""Situations of errors: calls that must be rejected, calls that fail during their traversal, and legal calls
afterwards.
"""

from __future__ import annotations

from collections.abc import Callable

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Ref
from autograd_conformance.strategies.building.action_builder import ActionBuilder
from autograd_conformance.strategies.building.draft import Unsupported
from autograd_conformance.strategies.building.op_builder import OpBuilder
from autograd_conformance.strategies.situations.base import FREEING, action_situation, joined, maybe_add_root, situation


@situation
def no_grad_roots(b: OpBuilder) -> None:
    """A root that requires no grad, as the only root or among others."""
    root = b.leaf(requires_grad=False)
    if b.below(2):
        root = b.nonlinear(root)
    b.backward(*([b.root(2), root] if b.below(4) == 3 else [root]))


@situation
def implicit_cotangents(b: OpBuilder) -> None:
    """A root that does not have exactly one element, and a backward call on it without a cotangent."""
    b.grow(0, 3)
    root = b.nonlinear(b.leaf(b.pick(b.shapes(((3,), (2,), (2, 3), (0,), (2, 1))))))
    roots = maybe_add_root(b, root)
    b.backward(*roots, cotangents=[None if each == root else b.cotangent(each) for each in roots])
    _each(b, roots)


def _each(b: OpBuilder, roots: tuple[Ref, ...]) -> None:
    """With probability one half, a legal call on each root."""
    for each in roots if b.below(2) else ():
        b.backward(each, retain=True if len(roots) > 1 else None)


@situation
def wrong_cotangents(b: OpBuilder) -> None:
    """A cotangent of another shape, also of one that would broadcast; then perhaps a legal one."""
    if not b.can(Capability.COTANGENTS):
        raise Unsupported("needs cotangents, not claimed")
    root = b.nonlinear(b.leaf(b.pick(b.shapes(((3,), (2,), (), (2, 3), (1,), (3, 2))))))
    shape = b.shape(root)
    others = [s for s in ((2,), (3,), (1,), (), (3, 2), (2, 3), (1, *shape), shape[::-1], shape[1:]) if s != shape]
    wrong = b.tensor(b.pick(others))
    roots = maybe_add_root(b, root)
    given = [wrong if each == root else b.cotangent(each) for each in roots]
    b.backward(*roots, cotangents=given, retain=b.pick((None, True)))
    _each(b, roots)


REFUSALS = (
    (Capability.NON_SCALAR_CHECK,),
    (Capability.COTANGENT_CHECK, Capability.COTANGENTS),
    (Capability.NO_GRAD_CHECK, Capability.DETACH, Capability.MULTIPLE_ROOTS),
)
"""The capabilities required by each kind of rejected call."""


@situation
def refused_after_gradients(b: OpBuilder) -> None:
    """Leaves with gradients, a call rejected for its arguments, and a legal call afterwards."""
    _refused(b, True)


@situation
def refused(b: OpBuilder) -> None:
    """A call rejected for its arguments, and a legal call afterwards, which may be the first that traverses the
    graph.
    """
    _refused(b, bool(b.below(2)))


def _refused(b: OpBuilder, called: bool) -> None:
    refusals = [n for n, needs in enumerate(REFUSALS) if b.can(*needs)]
    if not refusals:
        raise Unsupported("needs a framework that claims to reject some call")
    root = b.nonlinear(b.leaf(b.pick(b.shapes(((3,), (2, 3), (2,))))))
    if called:
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
def failing_calls(b: OpBuilder) -> None:
    """A call that reaches a freed part of its graph after, or before, it has traversed other parts."""
    freed = b.nonlinear(b.leaf((3,)))
    other = b.nonlinear(b.leaf((3,)))
    parts = [freed, other] if b.below(2) else [other, freed]
    whole = joined(b, [*parts, b.leaf((3,))] if b.below(2) else parts)
    b.backward(freed, retain=b.pick(FREEING))
    b.backward(whole, retain=b.pick((None, True)))
    if b.below(2):
        b.zero_grad(*b.leaves)
        b.backward(other)


SHAPES = ((3,), (2, 3), (), (2,))


def _freed(b: ActionBuilder, root: Ref, part: Ref) -> None:
    """A call that reaches a freed part, perhaps after other parts."""
    b.call(part)
    b.call(root)


def _modified(b: ActionBuilder, root: Ref, part: Ref) -> None:
    """A call that reaches a saved tensor that was written to."""
    saved = b.nonlinear(part, b.pick(b.available("exp", "tanh", "sigmoid", "square", "multiply")))
    whole = _together(b, [root, saved] if b.below(2) else [saved, root])
    b.write(b.pick((part, saved)), b.pick(("mul_scalar_", "zero_", "add_scalar_")))
    b.call(whole)


def _raising(b: ActionBuilder, root: Ref, part: Ref) -> None:
    """A call that reaches a hook that raises, or that returns a gradient of another shape."""
    handle = b.hook(part, b.pick(("raise", "misshape")))
    b.call(root, retain=True if b.can(Capability.RETAIN) else None)
    b.remove_hook(handle)


def _unused(b: ActionBuilder, root: Ref, part: Ref) -> None:
    """A functional call for an input that the root does not depend on."""
    b.grad([root], [b.leaf(b.pick(b.shapes(SHAPES))), *b.leaves[:1]], True if b.can(Capability.RETAIN) else None)


def _implicit(b: ActionBuilder, root: Ref, part: Ref) -> None:
    """A call without the cotangent that its root needs."""
    b.call(b.nonlinear(b.leaf((3,))), root, cotangents=[None, b.cotangent(root)])


def _creating(b: ActionBuilder, root: Ref, part: Ref) -> None:
    """A call with create_graph that is rejected because a cotangent is missing."""
    b.call(b.nonlinear(b.leaf((3,))), create=True, cotangents=[None])


def _rootless(b: ActionBuilder, root: Ref, part: Ref) -> None:
    """A call on a value without history."""
    b.call(b.nonlinear(b.detach(root)))


def _options(b: ActionBuilder, root: Ref, part: Ref) -> None:
    """A functional call with contradicting options."""
    b.grad([root], b.leaves[:1], unused=False, materialize=True)


def _inputless(b: ActionBuilder, root: Ref, part: Ref) -> None:
    """A call with an empty list of inputs."""
    b.call(root, inputs=[])


def _written_leaf(b: ActionBuilder, root: Ref, part: Ref) -> None:
    """A write to a leaf that requires grad."""
    b.write(b.leaves[0], "mul_scalar_")


FAILURES: tuple[tuple[Callable[[ActionBuilder, Ref, Ref], None], tuple[Capability, ...]], ...] = (
    (_freed, (Capability.FREES,)),
    (_modified, (Capability.WRITES,)),
    (_raising, (Capability.HOOKS,)),
    (_unused, (Capability.FUNCTIONAL,)),
    (_implicit, (Capability.NON_SCALAR_CHECK, Capability.MULTIPLE_ROOTS)),
    (_creating, (Capability.NON_SCALAR_CHECK, Capability.CREATE_GRAPH)),
    (_rootless, (Capability.NO_GRAD_CHECK, Capability.DETACH)),
    (_options, (Capability.FUNCTIONAL,)),
    (_inputless, (Capability.INPUTS,)),
    (_written_leaf, (Capability.WRITES, Capability.WRITE_CHECKS)),
)
"""The kinds of failing calls, each with the capabilities that it needs."""


def _together(b: ActionBuilder, parts: list[Ref]) -> Ref:
    """One value that depends on all given ones; one of them if the framework has no op of two operands."""
    return joined(b, parts) if b.alphabet.has_binary_op else b.recent(parts)


@action_situation
def resumed(b: ActionBuilder) -> None:
    """Leaves with or without gradients, a failing call, then legal calls on other graphs with the same leaves."""
    ways = [fail for fail, needs in FAILURES if b.can(*needs)]
    if not ways:
        raise Unsupported("needs a framework that claims to reject some call or write")
    leaves = [b.leaf(b.pick(b.shapes(SHAPES))) for _ in range(2)]
    parts = [b.nonlinear(leaf) for leaf in leaves]
    root = b.nonlinear(_together(b, parts))
    other = b.nonlinear(b.pick(leaves)) if b.below(2) else b.nonlinear(b.leaf(b.pick(b.shapes(SHAPES))))
    if b.below(2):
        b.call(b.nonlinear(b.pick(leaves)))
    for _ in range(1 + b.below(2)):
        b.pick(ways)(b, root, b.pick(parts))
        _legal_calls(b, leaves, other)
    if b.below(3) == 2:  # calls that had to fail still have to; others still work
        b.call(*maybe_add_root(b, b.pick([root, *parts])), retain=True if b.can(Capability.RETAIN) else None)


def _legal_calls(b: ActionBuilder, leaves: list[Ref], other: Ref) -> None:
    """One or two legal calls: on an earlier graph that did not fail, on a new one, or on the failed graph rebuilt."""
    if b.below(3) == 2:
        b.zero_grad(*leaves, to_none=bool(b.below(2)))
    if b.traversable(other) and b.below(2):
        b.call(other, retain=True if b.can(Capability.RETAIN) else None)
    root = _together(b, [b.nonlinear(leaf) for leaf in leaves]) if b.below(2) else b.nonlinear(b.pick(leaves))
    match b.below(3):
        case 2 if b.can(Capability.FUNCTIONAL):
            b.grad([root], leaves[:1], unused=True)
        case _:
            b.call(b.successor(root) if b.below(2) else root)
