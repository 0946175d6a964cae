"""Programs drawn for the rules about functional calls (`grad(roots, inputs)`) and about backward calls restricted to
inputs.
"""

from __future__ import annotations

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Ref
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.situations.base import FREEING, action_situation, computed, joined, maybe_add_root

SHAPES = ((3,), (2, 3), (), (2,))


def _graph(b: Draft) -> tuple[Ref, list[Ref], list[Ref]]:
    """Draws a graph, and returns its root, the leaves that the root depends on, and for each leaf a value between the
    leaf and the root.
    """
    leaves = [b.leaf_of(SHAPES) for _ in range(1 + b.below(3))]
    inner = [b.ops.nonlinear(b.ops.successor(leaf)) if b.below(2) else b.ops.nonlinear(leaf) for leaf in leaves]
    root = joined(b, inner)
    return b.ops.nonlinear(root) if b.below(2) else root, leaves, inner


def _keeping(b: Draft) -> bool | None:
    """Draws a value of `retain_graph`."""
    return b.pick((None, True, False)) if b.can(Capability.RETAIN) else None


@action_situation
def functional_gradients(b: Draft) -> None:
    """Draws a functional call for the gradients of one or two roots with respect to leaves and other values; the
    gradients may be used as operands afterwards.
    """
    b.require(Capability.FUNCTIONAL)
    root, leaves, inner = _graph(b)
    roots = [root, *([b.pick([*inner, root])] if b.can(Capability.MULTIPLE_ROOTS) and b.below(3) == 2 else [])]
    inputs = list(dict.fromkeys(b.pick([*leaves, *inner]) for _ in range(1 + b.below(3))))
    made = b.actions.grad(roots, inputs, _keeping(b))
    if made and b.below(2):
        b.actions.backward(joined(b, [b.ops.successor(b.leaf(b.shape(made[0]))), b.ops.nonlinear(made[0])]))


@action_situation
def functional_beside_grads(b: Draft) -> None:
    """Draws one or two functional calls for leaves that may have a `.grad`, and a backward call afterwards."""
    b.require(Capability.FUNCTIONAL, Capability.RETAIN)
    root, leaves, _ = _graph(b)
    if b.below(4):
        b.actions.backward(root, retain=True)
    if b.below(3) == 2:
        b.actions.zero_grad(b.pick(leaves), to_none=bool(b.below(2)))
    for _ in range(1 + b.below(2)):
        b.actions.grad([root], [b.pick(leaves)], True)
    b.actions.backward(root)


@action_situation
def functional_frees(b: Draft) -> None:
    """Draws a functional or backward call that frees its graph, then a functional call on the same graph or a larger
    one. The first call may have an unused input, or only some of the used ones.
    """
    b.require(Capability.FUNCTIONAL)
    root, leaves, _ = _graph(b)
    freeing = b.pick(FREEING) if b.can(Capability.RETAIN) else None
    if b.below(2) and b.can(Capability.RETAIN):
        b.actions.grad([root], leaves, True)
    if b.can(Capability.UNUSED) and b.below(4) == 3:
        b.actions.grad([root], [*leaves[b.below(2) :], _unused(b)], freeing, unused=True, materialize=bool(b.below(2)))
    else:
        (
            b.actions.grad([root], leaves[b.below(2) :] or leaves, freeing)
            if b.below(3)
            else b.actions.backward(root, retain=freeing)
        )
    again = b.ops.successor(root) if b.below(3) == 2 else root
    b.actions.grad(maybe_add_root(b, again), [b.pick(leaves)], _keeping(b))


@action_situation
def inner_inputs(b: Draft) -> None:
    """Draws a functional call for the gradient of a root with respect to the result of an op, perhaps one that was
    changed in place, or to the root itself.
    """
    b.require(Capability.FUNCTIONAL)
    root, leaves, inner = _graph(b)
    value = b.pick([*inner, root])
    if b.can(Capability.WRITES) and b.below(4) == 3:
        value = computed(b, (3,), (2, 3))
        b.writes.to(value, b.pick(("mul_scalar_", "add_scalar_", "neg_")))
        root = b.ops.nonlinear(value)
    inputs = [value, *(leaves[:1] if root != value and b.below(3) == 2 else [])]
    b.actions.grad([root], inputs, _keeping(b), unused=True if b.below(2) else None)


@action_situation
def duplicate_inputs(b: Draft) -> None:
    """Draws a functional call that is given the same input two or three times, perhaps with another input."""
    b.require(Capability.FUNCTIONAL)
    root, leaves, inner = _graph(b)
    twice = b.pick([*leaves, *inner])
    others = [b.pick(leaves)] if b.below(2) else []
    made = b.actions.grad([root], [twice, *others, twice, *([twice] if b.below(3) == 2 else [])], _keeping(b))
    if len(made) > 1 and b.can(Capability.WRITES) and b.below(4) == 3:
        b.writes.to(made[0], "mul_scalar_")


def _unused(b: Draft) -> Ref:
    """Draws a value that requires grad and is unrelated to all others: a leaf or a result."""
    return b.leaf_of(SHAPES) if b.below(2) else computed(b, *SHAPES)


def _beside(b: Draft, value: Ref) -> Ref:
    """Draws a leaf of the shape of `value`, in another dtype if the framework has one."""
    others = [dtype for dtype in b.alphabet.dtypes if dtype != b.dtypes[value]]
    return b.leaf(value=b.operands.tensor(b.shape(value), b.pick(others) if others else None))


@action_situation
def unused_inputs(b: Draft) -> None:
    """Draws a functional call, without allow_unused, for an input that the root does not depend on."""
    b.require(Capability.FUNCTIONAL)
    root, leaves, _ = _graph(b)
    other = b.ops.successor(root) if b.below(4) == 3 else _unused(b)
    inputs = [*leaves[: b.below(2)], other]
    b.actions.grad([root], inputs, True if b.can(Capability.RETAIN) else None, unused=b.pick((None, False)))
    b.actions.backward(b.ops.nonlinear(leaves[0]))


@action_situation
def allowed_unused(b: Draft) -> None:
    """Draws a functional call, with allow_unused, for an input that the root does not depend on."""
    b.require(Capability.FUNCTIONAL)
    root, leaves, _ = _graph(b)
    b.actions.grad(
        [root], [_unused(b), *leaves[: b.below(3)], *([_unused(b)] if b.below(2) else [])], _keeping(b), unused=True
    )


@action_situation
def materialized(b: Draft) -> None:
    """Draws a functional call, with materialize_grads, for an input that the root does not depend on; the gradient of
    zeros may be used afterwards. Another input may have the same shape and another dtype.
    """
    b.require(Capability.FUNCTIONAL)
    root, leaves, _ = _graph(b)
    inputs = [_unused(b), *leaves[: b.below(2)]]
    inputs += [_beside(b, inputs[0])] if b.below(3) == 2 else []
    made = b.actions.grad([root], inputs, _keeping(b), unused=b.pick((None, True)), materialize=True)
    if made and b.below(2):
        b.ops.nonlinear(made[0])


@action_situation
def contradicting_options(b: Draft) -> None:
    """Draws a functional call with materialize_grads and allow_unused=False, which is rejected, and a legal call."""
    b.require(Capability.FUNCTIONAL)
    root, leaves, _ = _graph(b)
    inputs = [*leaves, *([_unused(b)] if b.below(2) else [])]
    b.actions.grad([root], inputs, unused=False, materialize=True)
    b.actions.grad([root], leaves) if b.below(2) else b.actions.backward(root)


@action_situation
def constant_inputs(b: Draft) -> None:
    """Draws a functional or backward call whose inputs contain a constant or a detached value."""
    b.require(Capability.CONSTANTS)
    root, leaves, _ = _graph(b)
    constant = b.leaf_of(SHAPES, requires_grad=False)
    if b.can(Capability.DETACH) and b.below(2):
        constant = b.detach(b.pick([root, *leaves]))
    inputs = b.pick(([constant], [constant, leaves[0]], [leaves[0], constant]))
    if b.can(Capability.INPUTS) and (b.below(2) or not b.can(Capability.FUNCTIONAL)):
        b.actions.backward(root, inputs=inputs)
    else:
        b.require(Capability.FUNCTIONAL)
        b.actions.grad([root], inputs, unused=b.pick((None, True)))
    b.actions.backward(root)


@action_situation
def restricted_calls(b: Draft) -> None:
    """Draws one or two backward calls restricted to inputs, which are leaves or results: given once or twice, reached
    or not, with or without an earlier gradient.
    """
    b.require(Capability.INPUTS)
    root, leaves, inner = _graph(b)
    if b.can(Capability.RETAIN) and b.below(3) == 2:
        b.actions.backward(root, retain=True)
    inputs = list(dict.fromkeys(b.pick([*leaves, *inner]) for _ in range(1 + b.below(2))))
    inputs += [b.leaf_of(SHAPES)] if b.below(4) == 3 else []
    inputs += inputs[:1] if b.below(4) == 3 else []
    b.actions.backward(root, inputs=inputs, retain=_keeping(b))
    if b.below(2):
        b.actions.backward(b.ops.nonlinear(b.pick(leaves)), inputs=[b.pick(leaves)])


@action_situation
def empty_inputs(b: Draft) -> None:
    """Draws a backward call with an empty list of inputs, and a legal call afterwards."""
    b.require(Capability.INPUTS)
    root, leaves, _ = _graph(b)
    b.actions.backward(root, inputs=[], retain=_keeping(b))
    b.actions.backward(root, inputs=leaves) if b.below(2) else b.actions.backward(root)
