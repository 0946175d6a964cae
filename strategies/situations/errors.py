"""Programs drawn for the rules about errors: calls that must be rejected, calls that fail during their traversal, and
legal calls afterwards.
"""

from __future__ import annotations

from collections.abc import Callable

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Ref
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.building.unsupported import Unsupported
from autograd_conformance.strategies.situations.base import FREEING, action_situation, joined, maybe_add_root, situation


@situation
def no_grad_roots(b: Draft) -> None:
    """Draws a backward call on a root that requires no grad, as the only root or after another one."""
    root = b.leaf(requires_grad=False)
    if b.below(2):
        root = b.ops.nonlinear(root)
    b.actions.backward(*([b.ops.root(2), root] if b.below(4) == 3 else [root]))


@situation
def implicit_cotangents(b: Draft) -> None:
    """Draws a backward call without a cotangent on a root that does not have exactly one element."""
    b.ops.grow(0, 3)
    root = b.ops.nonlinear(b.leaf_of(((3,), (2,), (2, 3), (0,), (2, 1))))
    roots = maybe_add_root(b, root)
    b.actions.backward(*roots, cotangents=[None if each == root else b.actions.cotangent(each) for each in roots])
    _each(b, roots)


def _each(b: Draft, roots: tuple[Ref, ...]) -> None:
    """Adds, with probability one half, a legal backward call on each root."""
    for each in roots if b.below(2) else ():
        b.actions.backward(each, retain=True if len(roots) > 1 else None)


@situation
def wrong_cotangents(b: Draft) -> None:
    """Draws a backward call with a cotangent of another shape, even one that would broadcast; then perhaps a legal
    call.
    """
    if not b.can(Capability.COTANGENTS):
        raise Unsupported("needs cotangents, not claimed")
    root = b.ops.nonlinear(b.leaf_of(((3,), (2,), (), (2, 3), (1,), (3, 2))))
    shape = b.shape(root)
    others = [s for s in ((2,), (3,), (1,), (), (3, 2), (2, 3), (1, *shape), shape[::-1], shape[1:]) if s != shape]
    wrong = b.operands.tensor(b.pick(others))
    roots = maybe_add_root(b, root)
    given = [wrong if each == root else b.actions.cotangent(each) for each in roots]
    b.actions.backward(*roots, cotangents=given, retain=b.pick((None, True)))
    _each(b, roots)


REFUSALS = (
    (Capability.NON_SCALAR_CHECK,),
    (Capability.COTANGENT_CHECK, Capability.COTANGENTS),
    (Capability.NO_GRAD_CHECK, Capability.DETACH, Capability.MULTIPLE_ROOTS),
)
"""The capabilities required by each kind of rejected backward call: without a cotangent, with one of a wrong shape,
with a root without history.
"""


@situation
def refused_after_gradients(b: Draft) -> None:
    """Draws leaves with gradients, a backward call that is rejected for its arguments, and a legal call."""
    _refused(b, True)


@situation
def refused(b: Draft) -> None:
    """Draws a backward call that is rejected for its arguments, and a legal call, which may be the first that traverses
    the graph.
    """
    _refused(b, bool(b.below(2)))


def _refused(b: Draft, called: bool) -> None:
    refusals = [n for n, needs in enumerate(REFUSALS) if b.can(*needs)]
    if not refusals:
        raise Unsupported("needs a framework that claims to reject some call")
    root = b.ops.nonlinear(b.leaf_of(((3,), (2, 3), (2,))))
    if called:
        b.actions.backward(root, retain=True)
    match b.pick(refusals):
        case 0:
            b.actions.backward(root, cotangents=[None])
        case 1:
            b.actions.backward(root, cotangents=[b.operands.tensor((*b.shape(root), 2))])
        case _:
            b.actions.backward(root, b.detach(root))
    b.actions.backward(root, retain=b.pick((None, True)))


@situation
def failing_calls(b: Draft) -> None:
    """Draws a backward call that reaches a freed part of its graph after, or before, it has traversed other parts."""
    freed = b.ops.nonlinear(b.vector())
    other = b.ops.nonlinear(b.vector())
    parts = [freed, other] if b.below(2) else [other, freed]
    whole = joined(b, [*parts, b.vector()] if b.below(2) else parts)
    b.actions.backward(freed, retain=b.pick(FREEING))
    b.actions.backward(whole, retain=b.pick((None, True)))
    if b.below(2):
        b.actions.zero_grad(*b.script.leaves)
        b.actions.backward(other)


SHAPES = ((3,), (2, 3), (), (2,))


def _freed(b: Draft, root: Ref, part: Ref) -> None:
    """Adds a backward call that frees a part of a graph, and one on the whole graph, which fails, perhaps after it has
    traversed other parts.
    """
    b.actions.backward(part)
    b.actions.backward(root)


def _modified(b: Draft, root: Ref, part: Ref) -> None:
    """Adds an in-place write to a saved tensor, and a backward call that reaches the tensor."""
    saved = b.ops.nonlinear(part, b.pick(b.available("exp", "tanh", "sigmoid", "square", "multiply")))
    whole = _together(b, [root, saved] if b.below(2) else [saved, root])
    b.writes.to(b.pick((part, saved)), b.pick(("mul_scalar_", "zero_", "add_scalar_")))
    b.actions.backward(whole)


def _raising(b: Draft, root: Ref, part: Ref) -> None:
    """Adds a hook that raises or returns a gradient of another shape, a backward call that reaches the hook, and the
    hook's removal.
    """
    handle = b.actions.hook(part, b.pick(("raise", "misshape")))
    b.actions.backward(root, retain=True if b.can(Capability.RETAIN) else None)
    b.actions.remove_hook(handle)


def _unused(b: Draft, root: Ref, part: Ref) -> None:
    """Adds a functional call for an input that the root does not depend on."""
    b.actions.grad(
        [root],
        [b.leaf_of(SHAPES), *b.script.leaves[:1]],
        True if b.can(Capability.RETAIN) else None,
    )


def _implicit(b: Draft, root: Ref, part: Ref) -> None:
    """Adds a backward call on two roots that lacks the cotangent of one root, although that root has several
    elements.
    """
    b.actions.backward(b.ops.nonlinear(b.vector()), root, cotangents=[None, b.actions.cotangent(root)])


def _creating(b: Draft, root: Ref, part: Ref) -> None:
    """Adds a backward call with create_graph that is rejected because a cotangent is missing."""
    b.actions.backward(b.ops.nonlinear(b.vector()), create=True, cotangents=[None])


def _rootless(b: Draft, root: Ref, part: Ref) -> None:
    """Adds a backward call on a value without history."""
    b.actions.backward(b.ops.nonlinear(b.detach(root)))


def _options(b: Draft, root: Ref, part: Ref) -> None:
    """Adds a functional call with contradicting options: allow_unused=False and materialize_grads=True."""
    b.actions.grad([root], b.script.leaves[:1], unused=False, materialize=True)


def _inputless(b: Draft, root: Ref, part: Ref) -> None:
    """Adds a backward call with an empty list of inputs."""
    b.actions.backward(root, inputs=[])


def _written_leaf(b: Draft, root: Ref, part: Ref) -> None:
    """Adds an in-place write to a leaf that requires grad, which is rejected."""
    b.writes.to(b.script.leaves[0], "mul_scalar_")


FAILURES: tuple[tuple[Callable[[Draft, Ref, Ref], None], tuple[Capability, ...]], ...] = (
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
"""The functions that add a failing call or write to a program, each with the capabilities that it needs."""


def _together(b: Draft, parts: list[Ref]) -> Ref:
    """Adds the values of the first one's dtype up, or joins them by another op of two operands; returns one of the
    values, which it draws, if the framework has no op of two operands.
    """
    return joined(b, parts) if b.alphabet.has_binary_op else b.choices.recent(parts)


@action_situation
def resumed(b: Draft) -> None:
    """Draws leaves with or without gradients, one or two failing calls or writes, and after each of them legal calls on
    other graphs with the same leaves.
    """
    ways = [fail for fail, needs in FAILURES if b.can(*needs)]
    if not ways:
        raise Unsupported("needs a framework that claims to reject some call or write")
    leaves = [b.leaf_of(SHAPES) for _ in range(2)]
    parts = [b.ops.nonlinear(leaf) for leaf in leaves]
    root = b.ops.nonlinear(_together(b, parts))
    other = b.ops.nonlinear(b.pick(leaves)) if b.below(2) else b.ops.nonlinear(b.leaf_of(SHAPES))
    if b.below(2):
        b.actions.backward(b.ops.nonlinear(b.pick(leaves)))
    for _ in range(1 + b.below(2)):
        b.pick(ways)(b, root, b.pick(parts))
        _legal_calls(b, leaves, other)
    if b.below(3) == 2:  # calls that had to fail still have to; others still work
        b.actions.backward(
            *maybe_add_root(b, b.pick([root, *parts])), retain=True if b.can(Capability.RETAIN) else None
        )


def _legal_calls(b: Draft, leaves: list[Ref], other: Ref) -> None:
    """Adds one or two legal calls: perhaps one on `other`, whose graph did not fail, and one on a new root computed
    from the same leaves.
    """
    if b.below(3) == 2:
        b.actions.zero_grad(*leaves, to_none=bool(b.below(2)))
    if b.actions.traversable(other) and b.below(2):
        b.actions.backward(other, retain=True if b.can(Capability.RETAIN) else None)
    root = _together(b, [b.ops.nonlinear(leaf) for leaf in leaves]) if b.below(2) else b.ops.nonlinear(b.pick(leaves))
    match b.below(3):
        case 2 if b.can(Capability.FUNCTIONAL):
            b.actions.grad([root], leaves[:1], unused=True)
        case _:
            b.actions.backward(b.ops.successor(root) if b.below(2) else root)
