"""Situations of the functional form (`grad`) and of backward calls restricted to inputs."""

from __future__ import annotations

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Ref
from autograd_conformance.strategies.building.action_builder import ActionBuilder
from autograd_conformance.strategies.situations.base import FREEING, action_situation, computed, joined, maybe_add_root

SHAPES = ((3,), (2, 3), (), (2,))


def _graph(b: ActionBuilder) -> tuple[Ref, list[Ref], list[Ref]]:
    """A root, the leaves that it depends on, and for each leaf a value between it and the root."""
    leaves = [b.leaf(b.pick(b.shapes(SHAPES))) for _ in range(1 + b.below(3))]
    inner = [b.nonlinear(b.successor(leaf)) if b.below(2) else b.nonlinear(leaf) for leaf in leaves]
    root = joined(b, inner)
    return b.nonlinear(root) if b.below(2) else root, leaves, inner


def _keeping(b: ActionBuilder) -> bool | None:
    """A drawn value of `retain_graph`."""
    return b.pick((None, True, False)) if b.can(Capability.RETAIN) else None


@action_situation
def functional_gradients(b: ActionBuilder) -> None:
    """Gradients of one or two roots with respect to leaves and other values, used as operands afterwards."""
    b.require(Capability.FUNCTIONAL)
    root, leaves, inner = _graph(b)
    roots = [root, *([b.pick([*inner, root])] if b.can(Capability.MULTIPLE_ROOTS) and b.below(3) == 2 else [])]
    inputs = list(dict.fromkeys(b.pick([*leaves, *inner]) for _ in range(1 + b.below(3))))
    made = b.grad(roots, inputs, _keeping(b))
    if made and b.below(2):
        b.call(joined(b, [b.successor(b.leaf(b.shape(made[0]))), b.nonlinear(made[0])]))


@action_situation
def functional_beside_grads(b: ActionBuilder) -> None:
    """Leaves with and without gradients, before and after a functional call."""
    b.require(Capability.FUNCTIONAL, Capability.RETAIN)
    root, leaves, _ = _graph(b)
    if b.below(4):
        b.call(root, retain=True)
    if b.below(3) == 2:
        b.zero_grad(b.pick(leaves), to_none=bool(b.below(2)))
    for _ in range(1 + b.below(2)):
        b.grad([root], [b.pick(leaves)], True)
    b.call(root)


@action_situation
def functional_frees(b: ActionBuilder) -> None:
    """A functional call that does not retain its graph, then another call on the same graph or a larger one. The first
    call may have an unused input, or only some of the used ones.
    """
    b.require(Capability.FUNCTIONAL)
    root, leaves, _ = _graph(b)
    freeing = b.pick(FREEING) if b.can(Capability.RETAIN) else None
    if b.below(2) and b.can(Capability.RETAIN):
        b.grad([root], leaves, True)
    if b.can(Capability.UNUSED) and b.below(4) == 3:
        b.grad([root], [*leaves[b.below(2) :], _unused(b)], freeing, unused=True, materialize=bool(b.below(2)))
    else:
        (b.grad([root], leaves[b.below(2) :] or leaves, freeing) if b.below(3) else b.call(root, retain=freeing))
    again = b.successor(root) if b.below(3) == 2 else root
    b.grad(maybe_add_root(b, again), [b.pick(leaves)], _keeping(b))


@action_situation
def inner_inputs(b: ActionBuilder) -> None:
    """Gradients with respect to results of ops, or to the root itself; the value may have been written to before."""
    b.require(Capability.FUNCTIONAL)
    root, leaves, inner = _graph(b)
    value = b.pick([*inner, root])
    if b.can(Capability.WRITES) and b.below(4) == 3:
        value = computed(b, (3,), (2, 3))
        b.write(value, b.pick(("mul_scalar_", "add_scalar_", "neg_")))
        root = b.nonlinear(value)
    inputs = [value, *(leaves[:1] if root != value and b.below(3) == 2 else [])]
    b.grad([root], inputs, _keeping(b), unused=True if b.below(2) else None)


@action_situation
def duplicate_inputs(b: ActionBuilder) -> None:
    """The same input two or three times, perhaps with others."""
    b.require(Capability.FUNCTIONAL)
    root, leaves, inner = _graph(b)
    twice = b.pick([*leaves, *inner])
    others = [b.pick(leaves)] if b.below(2) else []
    made = b.grad([root], [twice, *others, twice, *([twice] if b.below(3) == 2 else [])], _keeping(b))
    if len(made) > 1 and b.can(Capability.WRITES) and b.below(4) == 3:
        b.write(made[0], "mul_scalar_")


def _unused(b: ActionBuilder) -> Ref:
    """A value that requires grad and is unrelated to all others: a leaf or a result."""
    return b.leaf(b.pick(b.shapes(SHAPES))) if b.below(2) else computed(b, *SHAPES)


def _beside(b: ActionBuilder, value: Ref) -> Ref:
    """A leaf of a value's shape, in another dtype if the framework has one."""
    others = [dtype for dtype in b.alphabet.dtypes if dtype != b.dtypes[value]]
    return b.leaf(value=b.tensor(b.shape(value), b.pick(others) if others else None))


@action_situation
def unused_inputs(b: ActionBuilder) -> None:
    """An input that the roots do not depend on, without allow_unused."""
    b.require(Capability.FUNCTIONAL)
    root, leaves, _ = _graph(b)
    other = b.successor(root) if b.below(4) == 3 else _unused(b)
    inputs = [*leaves[: b.below(2)], other]
    b.grad([root], inputs, True if b.can(Capability.RETAIN) else None, unused=b.pick((None, False)))
    b.call(b.nonlinear(leaves[0]))


@action_situation
def allowed_unused(b: ActionBuilder) -> None:
    """An input that the roots do not depend on, with allow_unused."""
    b.require(Capability.FUNCTIONAL)
    root, leaves, _ = _graph(b)
    b.grad([root], [_unused(b), *leaves[: b.below(3)], *([_unused(b)] if b.below(2) else [])], _keeping(b), unused=True)


@action_situation
def materialized(b: ActionBuilder) -> None:
    """An input that the roots do not depend on, with materialize_grads; its gradient of zeros is used afterwards.
    Another input may have the same shape and another dtype.
    """
    b.require(Capability.FUNCTIONAL)
    root, leaves, _ = _graph(b)
    inputs = [_unused(b), *leaves[: b.below(2)]]
    inputs += [_beside(b, inputs[0])] if b.below(3) == 2 else []
    made = b.grad([root], inputs, _keeping(b), unused=b.pick((None, True)), materialize=True)
    if made and b.below(2):
        b.nonlinear(made[0])


@action_situation
def contradicting_options(b: ActionBuilder) -> None:
    """A call with materialize_grads and allow_unused=False, which is rejected; a legal call afterwards."""
    b.require(Capability.FUNCTIONAL)
    root, leaves, _ = _graph(b)
    inputs = [*leaves, *([_unused(b)] if b.below(2) else [])]
    b.grad([root], inputs, unused=False, materialize=True)
    b.grad([root], leaves) if b.below(2) else b.call(root)


@action_situation
def constant_inputs(b: ActionBuilder) -> None:
    """A constant or a detached value as an input of a functional or a backward call."""
    b.require(Capability.CONSTANTS)
    root, leaves, _ = _graph(b)
    constant = b.leaf(b.pick(b.shapes(SHAPES)), requires_grad=False)
    if b.can(Capability.DETACH) and b.below(2):
        constant = b.detach(b.pick([root, *leaves]))
    inputs = b.pick(([constant], [constant, leaves[0]], [leaves[0], constant]))
    if b.can(Capability.INPUTS) and (b.below(2) or not b.can(Capability.FUNCTIONAL)):
        b.call(root, inputs=inputs)
    else:
        b.require(Capability.FUNCTIONAL)
        b.grad([root], inputs, unused=b.pick((None, True)))
    b.call(root)


@action_situation
def restricted_calls(b: ActionBuilder) -> None:
    """A backward call restricted to leaves and results: given once or twice, reached or not, with or without a
    gradient.
    """
    b.require(Capability.INPUTS)
    root, leaves, inner = _graph(b)
    if b.can(Capability.RETAIN) and b.below(3) == 2:
        b.call(root, retain=True)
    inputs = list(dict.fromkeys(b.pick([*leaves, *inner]) for _ in range(1 + b.below(2))))
    inputs += [b.leaf(b.pick(b.shapes(SHAPES)))] if b.below(4) == 3 else []
    inputs += inputs[:1] if b.below(4) == 3 else []
    b.call(root, inputs=inputs, retain=_keeping(b))
    if b.below(2):
        b.call(b.nonlinear(b.pick(leaves)), inputs=[b.pick(leaves)])


@action_situation
def empty_inputs(b: ActionBuilder) -> None:
    """A backward call with an empty list of inputs, and a legal call afterwards."""
    b.require(Capability.INPUTS)
    root, leaves, _ = _graph(b)
    b.call(root, inputs=[], retain=_keeping(b))
    b.call(root, inputs=leaves) if b.below(2) else b.call(root)
