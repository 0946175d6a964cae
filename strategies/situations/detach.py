"""Programs drawn for the rules about `detach` and `detach_`: detached values beside values that keep their history."""

from __future__ import annotations

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.situations.base import (
    action_situation,
    computed,
    joining,
    negative,
    situation,
    view,
)


@situation
def detached_operands(b: Draft) -> None:
    """Draws a detached value as an operand on the path to the root, with its source or another leaf as the other
    operand.
    """
    source = b.ops.nonlinear(b.ops.required()) if b.below(2) else b.ops.required()
    detached = b.detach(source)
    other = b.pick([source, b.leaf(b.shape(source))]) if b.dtypes[source] == b.operands.dtype else source
    made = joining(b, ("multiply", "add", "subtract"), most=2)(other, detached)
    b.actions.backward(b.ops.successor(made) if b.below(2) else made)


@situation
def detached_roots(b: Draft) -> None:
    """Draws a backward call on a detached value, or on a value computed only from detached ones."""
    source = b.ops.root(3)
    root = b.detach(source if b.can(Capability.COTANGENTS) else b.ops.total(source))
    if b.below(3) == 2:
        root = b.ops.nonlinear(root, negative(b))
    b.actions.backward(root)


@situation
def detached_sources(b: Draft) -> None:
    """Draws a backward call on a value that was detached before, which keeps its own history; the detached value may be
    used as an operand.
    """
    source = b.ops.root(3)
    detached = b.detach(source)
    if b.below(2):
        b.ops.nonlinear(detached)
    b.actions.backward(b.ops.successor(source) if b.below(2) else source)


@action_situation
def values_detached_twice(b: Draft) -> None:
    """Draws a value that is detached twice. In between, the first detached value is switched to require grad, gets a
    history by an in-place write, or is used.
    """
    b.require(Capability.DETACH)
    source = b.ops.nonlinear(b.ops.required()) if b.below(2) else b.ops.required()
    first = b.detach(source)
    match b.below(3):
        case 0 if b.can(Capability.SWITCHES):
            b.actions.set_requires_grad(first, True)
        case 1 if b.can(Capability.WRITES):
            b.writes.to(first, source=b.leaf(b.shape(first)))
        case _:
            b.ops.nonlinear(first, negative(b))
    second = b.detach(source)
    leaf = b.leaf(value=b.operands.tensor(b.shape(second), b.dtypes[second]))
    b.actions.backward(b.apply(b.pick(b.available("multiply", "add")), (leaf, second))[0])
    if b.requires(first):
        b.actions.backward(b.ops.nonlinear(first))


# -- in place ----------------------------------------------------------------------------------------------------------


@action_situation
def values_detached_in_place(b: Draft) -> None:
    """Draws a result or a leaf that is detached in place and used. Values computed from it earlier keep their history;
    values computed from it later have none, unless it is switched to require grad, which makes it a leaf.
    """
    b.require(Capability.DETACH, Capability.WRITES, Capability.DETACHES_IN_PLACE)
    value = computed(b, (3,), (2, 3), ())
    target = b.vector() if b.below(4) == 3 else value
    before = b.ops.nonlinear(target) if b.below(2) else None
    b.actions.detach_in_place(target)
    if b.can(Capability.SWITCHES) and b.below(3) == 2:
        b.actions.set_requires_grad(target, True)
    made = b.ops.nonlinear(target)
    if b.can(Capability.NO_GRAD_CHECK) and b.below(3) == 2:
        b.actions.backward(b.pick((target, made)))
    leaf = b.leaf(value=b.operands.tensor(b.shape(made), b.dtypes[made]))
    b.actions.backward(b.apply(b.pick(b.available("multiply", "add")), (made, leaf))[0])
    if before is not None and b.below(2):
        b.actions.backward(before)


@action_situation
def views_detached_in_place(b: Draft) -> None:
    """Draws `detach_` on a view, which is rejected, and a backward call on the view's graph, which stays legal."""
    b.require(Capability.DETACH, Capability.WRITES, Capability.DETACHES_IN_PLACE, Capability.VIEWS)
    source = b.leaf_of(((3,), (2, 3), (2, 2))) if b.below(2) else computed(b, (3,), (2, 3), (2, 2))
    target = view(b, source)
    b.actions.detach_in_place(target)
    b.actions.backward(b.ops.nonlinear(target) if b.below(2) else target)
