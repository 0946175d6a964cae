"""Situations of hooks, and of values that are no leaves and retain their gradient."""

from __future__ import annotations

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Ref
from autograd_conformance.strategies.building.action_builder import ActionBuilder
from autograd_conformance.strategies.situations.base import (
    action_situation,
    computed,
    joined,
    maybe_add_root,
    maybe_end_region,
    view,
)

SHAPES = ((3,), (2, 3), (), (2, 2))
CHANGING = (("scale", 2.0), ("replace", 0.5), ("scale", -0.5), ("replace", 0.0), ("scale", 0.0))


def _hooked(b: ActionBuilder) -> tuple[Ref, Ref]:
    """A value to hook (a leaf, a result or a view), and the leaf that it depends on."""
    leaf = b.leaf(b.pick(b.shapes(SHAPES)))
    match b.below(4):
        case 0:
            value = leaf
        case 1 if b.can(Capability.VIEWS) and b.shape(leaf):
            value = view(b, b.nonlinear(leaf), 1)
        case _:
            value = b.nonlinear(leaf)
    maybe_end_region(b)
    return value, leaf


def _root(b: ActionBuilder, value: Ref) -> Ref:
    """A root that depends on a value, perhaps on several paths."""
    uses = [b.nonlinear(value), *(b.successor(value) for _ in range(b.below(3)))]
    return joined(b, uses)


def _call(b: ActionBuilder, root: Ref, *values: Ref, last: bool = True) -> None:
    """A backward, restricted or functional call whose traversal reaches `values`."""
    retain = None if last or not b.can(Capability.RETAIN) else True
    match b.below(4):
        case 3 if b.can(Capability.FUNCTIONAL):
            b.grad(maybe_add_root(b, root), list(values), retain)
        case 2 if b.can(Capability.INPUTS):
            b.call(*maybe_add_root(b, root), inputs=list(values), retain=retain)
        case _:
            b.call(*maybe_add_root(b, root), retain=retain)


@action_situation
def observed(b: ActionBuilder) -> None:
    """A hook that observes a leaf, a result or a view, during one to three calls."""
    b.require(Capability.HOOKS)
    value, leaf = _hooked(b)
    before = b.below(2)
    root = None if before else _root(b, value)
    b.hook(value)
    root = _root(b, value) if root is None else root
    calls = 1 + b.below(3) if b.can(Capability.RETAIN) else 1
    for n in range(calls):
        _call(b, root, leaf, last=n == calls - 1)


@action_situation
def changing_hooks(b: ActionBuilder) -> None:
    """Hooks that scale or replace the gradient that is passed on."""
    b.require(Capability.HOOKS)
    value, leaf = _hooked(b)
    root = _root(b, value)
    b.hook(value, *b.pick(CHANGING))
    if b.below(3) == 2:
        b.hook(leaf if b.below(2) else root, *b.pick(CHANGING))
    if b.can(Capability.RETAIN) and b.below(2):
        _call(b, root, leaf, last=False)
    _call(b, root, leaf)


@action_situation
def ordered_hooks(b: ActionBuilder) -> None:
    """Two to four hooks on one value, some of which change the gradient; one may be removed and another added."""
    b.require(Capability.HOOKS)
    value, leaf = _hooked(b)
    root = _root(b, value)
    handles = [
        b.hook(value, *b.pick((("observe", 1.0), *CHANGING[:3], ("observe", 1.0)))) for _ in range(2 + b.below(3))
    ]
    if b.below(3) == 2:
        b.remove_hook(b.pick(handles))
        if b.below(2):
            b.hook(value, *b.pick(CHANGING[:3]))
    _call(b, root, leaf)


@action_situation
def hooks_and_writes(b: ActionBuilder) -> None:
    """Hooks on a value before and after a recorded write to it: each belongs to the version that it was added to."""
    b.require(Capability.HOOKS, Capability.WRITES)
    value = computed(b, *SHAPES)
    b.hook(value, *b.pick((("observe", 1.0), *CHANGING[:2])))
    if b.can(Capability.RETAINS_GRAD) and b.below(3) == 2:
        b.retain_grad(value)
    b.write(value, b.pick(("mul_scalar_", "add_scalar_", "neg_", "add_", "mul_")))
    b.hook(value, *b.pick((("observe", 1.0), *CHANGING[:2])))
    b.call(_root(b, value))


@action_situation
def removed_hooks(b: ActionBuilder) -> None:
    """One to four hooks on a value, some of which are removed, in any order, before or between calls."""
    b.require(Capability.HOOKS)
    value, leaf = _hooked(b)
    root = _root(b, value)
    handles = [b.hook(value, *b.pick((("observe", 1.0), *CHANGING[:2]))) for _ in range(1 + b.below(4))]
    for _ in range(1 + b.below(len(handles))):
        if b.can(Capability.RETAIN) and b.below(2):
            _call(b, root, leaf, last=False)
        b.remove_hook(handles.pop(b.below(len(handles))))
    _call(b, root, leaf)


@action_situation
def accumulated_hooks(b: ActionBuilder) -> None:
    """Hooks after accumulation, on leaves with and without a gradient, perhaps with other hooks."""
    b.require(Capability.ACCUMULATED_HOOKS)
    leaf = b.leaf(b.pick(b.shapes(SHAPES)))
    root = _root(b, leaf)
    handle = b.hook(leaf, accumulated=True)
    if b.can(Capability.HOOKS) and b.below(3) == 2:
        b.hook(leaf, *b.pick(CHANGING[:3]))
    if b.below(4) == 3:
        b.hook(leaf, accumulated=True)
    if b.can(Capability.RETAIN):
        for _ in range(b.below(3)):
            b.call(root, retain=True)
    if b.can(Capability.FUNCTIONAL, Capability.RETAIN) and b.below(3) == 2:
        b.grad([root], [leaf], True)
    b.call(root)
    if b.below(3) == 2:
        b.remove_hook(handle)
        b.call(b.nonlinear(leaf))


@action_situation
def refused_hooks(b: ActionBuilder) -> None:
    """A hook on a constant or a detached value, or one after accumulation on a result, which is rejected."""
    b.require(Capability.HOOKS)
    value = computed(b, *SHAPES)
    if b.can(Capability.ACCUMULATED_HOOKS) and b.below(2):
        b.hook(value, accumulated=True)
    elif b.can(Capability.DETACH) and b.below(2):
        b.hook(b.detach(value))
    else:
        b.require(Capability.CONSTANTS)
        b.hook(
            b.leaf(b.pick(b.shapes(SHAPES)), requires_grad=False),
            accumulated=b.can(Capability.ACCUMULATED_HOOKS) and not b.below(4),
        )
    b.call(value)


def _failing_hook(b: ActionBuilder, effect: str) -> None:
    value, leaf = _hooked(b)
    other = b.leaf(b.pick(b.shapes(SHAPES)))
    root = joined(b, [_root(b, value), b.nonlinear(other)] if b.below(2) else [b.nonlinear(other), _root(b, value)])
    if b.below(3) == 2:
        b.hook(value)
    handle = b.hook(value, effect)
    if b.can(Capability.RETAIN) and b.below(3) == 2:
        b.call(b.nonlinear(leaf), retain=True)
    b.call(root, retain=True if b.can(Capability.RETAIN) else None)
    if b.below(2):
        b.remove_hook(handle)
        b.zero_grad(leaf, other)
        b.call(root if b.can(Capability.RETAIN) and b.below(2) else _root(b, value))


@action_situation
def raising_hooks(b: ActionBuilder) -> None:
    """A hook that raises; after its removal the next call works."""
    b.require(Capability.HOOKS)
    _failing_hook(b, "raise")


@action_situation
def misshaping_hooks(b: ActionBuilder) -> None:
    """A hook that returns a gradient of another shape; after its removal the next call works."""
    b.require(Capability.HOOKS)
    _failing_hook(b, "misshape")


# -- retained gradients ------------------------------------------------------------------------------------------------


@action_situation
def retained_gradients(b: ActionBuilder) -> None:
    """Values that retain their gradient, over several calls, with hooks, after writes, and with functional calls."""
    b.require(Capability.RETAINS_GRAD)
    value = computed(b, *SHAPES)
    value = view(b, value, 1) if b.can(Capability.VIEWS) and b.below(4) == 3 else value
    maybe_end_region(b)
    if b.can(Capability.WRITES) and b.below(4) == 3:
        b.write(value, b.pick(("mul_scalar_", "add_scalar_")))
    first = b.below(2)
    root = None if first else _root(b, value)
    b.retain_grad(value)
    if b.can(Capability.HOOKS) and b.below(3) == 2:
        b.hook(value, *b.pick(CHANGING[:3]))
    if b.below(4) == 3:
        b.retain_grad(value)
    root = _root(b, value) if root is None else root
    if b.can(Capability.RETAIN):
        for _ in range(b.below(3)):
            b.call(root, retain=True)
        if b.can(Capability.FUNCTIONAL) and b.below(4) == 3:
            b.grad([root], [b.leaves[0]], True, unused=True)
        if b.below(4) == 3:
            b.zero_grad(value, to_none=bool(b.below(2)))
    b.call(root)


@action_situation
def refused_retains(b: ActionBuilder) -> None:
    """`retain_grad` on a constant or a detached value, which is rejected."""
    b.require(Capability.RETAINS_GRAD)
    value = computed(b, *SHAPES)
    if b.can(Capability.DETACH) and b.below(2):
        target = b.detach(value)
    else:
        b.require(Capability.CONSTANTS)
        target = b.leaf(b.pick(b.shapes(SHAPES)), requires_grad=False)
        target = b.nonlinear(target) if b.below(2) else target
    b.retain_grad(target)
    b.call(value)
