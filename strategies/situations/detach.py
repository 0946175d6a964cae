"""Situations of `detach` and `detach_`: detached values beside values that keep their history."""

from __future__ import annotations

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.strategies.building.action_builder import ActionBuilder
from autograd_conformance.strategies.building.op_builder import OpBuilder
from autograd_conformance.strategies.situations.base import (
    action_situation,
    computed,
    joining,
    negative,
    situation,
    view,
)


@situation
def detached_operands(b: OpBuilder) -> None:
    """A detached value as an operand on the path to the root, with its source or another leaf as the other operand."""
    source = b.nonlinear(b.required()) if b.below(2) else b.required()
    detached = b.detach(source)
    other = b.pick([source, b.leaf(b.shape(source))]) if b.dtypes[source] == b.dtype else source
    made = joining(b, ("multiply", "add", "subtract"), most=2)(other, detached)
    b.backward(b.successor(made) if b.below(2) else made)


@situation
def detached_roots(b: OpBuilder) -> None:
    """A backward call on a detached value, or on a value computed only from detached ones."""
    source = b.root(3)
    root = b.detach(source if b.can(Capability.COTANGENTS) else b.total(source))
    if b.below(3) == 2:
        root = b.nonlinear(root, negative(b))
    b.backward(root)


@situation
def detached_sources(b: OpBuilder) -> None:
    """A value that was detached, whose detached form is perhaps used, and a call on the value."""
    source = b.root(3)
    detached = b.detach(source)
    if b.below(2):
        b.nonlinear(detached)
    b.backward(b.successor(source) if b.below(2) else source)


@action_situation
def values_detached_twice(b: ActionBuilder) -> None:
    """A value that is detached twice. In between, the first detached value is switched to require grad, gets a history
    by a write, or is used.
    """
    b.require(Capability.DETACH)
    source = b.nonlinear(b.required()) if b.below(2) else b.required()
    first = b.detach(source)
    match b.below(3):
        case 0 if b.can(Capability.SWITCHES):
            b.set_requires_grad(first, True)
        case 1 if b.can(Capability.WRITES):
            b.write(first, source=b.leaf(b.shape(first)))
        case _:
            b.nonlinear(first, negative(b))
    second = b.detach(source)
    leaf = b.leaf(value=b.tensor(b.shape(second), b.dtypes[second]))
    b.call(b.apply(b.pick(b.available("multiply", "add")), (leaf, second))[0])
    if b.requires(first):
        b.call(b.nonlinear(first))


# -- in place ----------------------------------------------------------------------------------------------------------


@action_situation
def values_detached_in_place(b: ActionBuilder) -> None:
    """A result or a leaf is detached in place and used. Values computed from it earlier keep their history; values
    computed from it later have none. It may be switched to require grad, which makes it a leaf.
    """
    b.require(Capability.DETACH, Capability.WRITES)
    value = computed(b, (3,), (2, 3), ())
    target = b.leaf((3,)) if b.below(4) == 3 else value
    before = b.nonlinear(target) if b.below(2) else None
    b.detach_in_place(target)
    if b.can(Capability.SWITCHES) and b.below(3) == 2:
        b.set_requires_grad(target, True)
    made = b.nonlinear(target)
    if b.can(Capability.NO_GRAD_CHECK) and b.below(3) == 2:
        b.call(b.pick((target, made)))
    leaf = b.leaf(value=b.tensor(b.shape(made), b.dtypes[made]))
    b.call(b.apply(b.pick(b.available("multiply", "add")), (made, leaf))[0])
    if before is not None and b.below(2):
        b.call(before)


@action_situation
def views_detached_in_place(b: ActionBuilder) -> None:
    """A view that is detached in place, which is rejected; a call on the graph stays legal."""
    b.require(Capability.DETACH, Capability.WRITES, Capability.VIEWS)
    source = b.leaf(b.pick(b.shapes(((3,), (2, 3), (2, 2))))) if b.below(2) else computed(b, (3,), (2, 3), (2, 2))
    target = view(b, source)
    b.detach_in_place(target)
    b.call(b.nonlinear(target) if b.below(2) else target)
