"""Programs drawn for the rules about hooks, and about values that are no leaves and retain their gradient."""

from __future__ import annotations

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Ref
from autograd_conformance.strategies.building.drafts.draft import Draft
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


def _hooked(b: Draft) -> tuple[Ref, Ref]:
    """Draws a value to hook (a leaf, a result or a view), and the leaf that the value depends on."""
    leaf = b.leaf_of(SHAPES)
    match b.below(4):
        case 0:
            value = leaf
        case 1 if b.can(Capability.VIEWS) and b.shape(leaf):
            value = view(b, b.ops.nonlinear(leaf), 1)
        case _:
            value = b.ops.nonlinear(leaf)
    maybe_end_region(b)
    return value, leaf


def _root(b: Draft, value: Ref) -> Ref:
    """Draws a root that depends on a value, perhaps on several paths."""
    uses = [b.ops.nonlinear(value), *(b.ops.successor(value) for _ in range(b.below(3)))]
    return joined(b, uses)


def _call(b: Draft, root: Ref, *values: Ref, last: bool = True) -> None:
    """Adds a backward call, a backward call restricted to `values`, or a functional call for their gradients."""
    retain = None if last or not b.can(Capability.RETAIN) else True
    match b.below(4):
        case 3 if b.can(Capability.FUNCTIONAL):
            b.actions.grad(maybe_add_root(b, root), list(values), retain)
        case 2 if b.can(Capability.INPUTS):
            b.actions.backward(*maybe_add_root(b, root), inputs=list(values), retain=retain)
        case _:
            b.actions.backward(*maybe_add_root(b, root), retain=retain)


@action_situation
def observed(b: Draft) -> None:
    """Draws a hook that observes the gradient of a leaf, a result or a view, during one to three calls."""
    b.require(Capability.HOOKS)
    value, leaf = _hooked(b)
    before = b.below(2)
    root = None if before else _root(b, value)
    b.actions.hook(value)
    root = _root(b, value) if root is None else root
    calls = 1 + b.below(3) if b.can(Capability.RETAIN) else 1
    for n in range(calls):
        _call(b, root, leaf, last=n == calls - 1)


@action_situation
def changing_hooks(b: Draft) -> None:
    """Draws hooks that scale or replace the gradient that a backward call passes on."""
    b.require(Capability.HOOKS)
    value, leaf = _hooked(b)
    root = _root(b, value)
    b.actions.hook(value, *b.pick(CHANGING))
    if b.below(3) == 2:
        b.actions.hook(leaf if b.below(2) else root, *b.pick(CHANGING))
    if b.can(Capability.RETAIN) and b.below(2):
        _call(b, root, leaf, last=False)
    _call(b, root, leaf)


@action_situation
def ordered_hooks(b: Draft) -> None:
    """Draws two to four hooks on one value, some of which change the gradient; one may be removed and another added."""
    b.require(Capability.HOOKS)
    value, leaf = _hooked(b)
    root = _root(b, value)
    handles = [
        b.actions.hook(value, *b.pick((("observe", 1.0), *CHANGING[:3], ("observe", 1.0))))
        for _ in range(2 + b.below(3))
    ]
    if b.below(3) == 2:
        b.actions.remove_hook(b.pick(handles))
        if b.below(2):
            b.actions.hook(value, *b.pick(CHANGING[:3]))
    _call(b, root, leaf)


@action_situation
def hooks_and_writes(b: Draft) -> None:
    """Draws hooks on a value before and after a recorded in-place write to the value: each hook belongs to the version
    to which it was added.
    """
    b.require(Capability.HOOKS, Capability.WRITES)
    value = computed(b, *SHAPES)
    b.actions.hook(value, *b.pick((("observe", 1.0), *CHANGING[:2])))
    if b.can(Capability.RETAINS_GRAD) and b.below(3) == 2:
        b.actions.retain_grad(value)
    b.writes.to(value, b.pick(("mul_scalar_", "add_scalar_", "neg_", "add_", "mul_")))
    b.actions.hook(value, *b.pick((("observe", 1.0), *CHANGING[:2])))
    b.actions.backward(_root(b, value))


@action_situation
def removed_hooks(b: Draft) -> None:
    """Draws one to four hooks on a value, some of which are removed, in any order, before or between backward calls."""
    b.require(Capability.HOOKS)
    value, leaf = _hooked(b)
    root = _root(b, value)
    handles = [b.actions.hook(value, *b.pick((("observe", 1.0), *CHANGING[:2]))) for _ in range(1 + b.below(4))]
    for _ in range(1 + b.below(len(handles))):
        if b.can(Capability.RETAIN) and b.below(2):
            _call(b, root, leaf, last=False)
        b.actions.remove_hook(handles.pop(b.below(len(handles))))
    _call(b, root, leaf)


@action_situation
def accumulated_hooks(b: Draft) -> None:
    """Draws hooks that run after accumulation in a leaf, which may have a gradient already and other hooks."""
    b.require(Capability.ACCUMULATED_HOOKS)
    leaf = b.leaf_of(SHAPES)
    root = _root(b, leaf)
    handle = b.actions.hook(leaf, accumulated=True)
    if b.can(Capability.HOOKS) and b.below(3) == 2:
        b.actions.hook(leaf, *b.pick(CHANGING[:3]))
    if b.below(4) == 3:
        b.actions.hook(leaf, accumulated=True)
    if b.can(Capability.RETAIN):
        for _ in range(b.below(3)):
            b.actions.backward(root, retain=True)
    if b.can(Capability.FUNCTIONAL, Capability.RETAIN) and b.below(3) == 2:
        b.actions.grad([root], [leaf], True)
    b.actions.backward(root)
    if b.below(3) == 2:
        b.actions.remove_hook(handle)
        b.actions.backward(b.ops.nonlinear(leaf))


@action_situation
def refused_hooks(b: Draft) -> None:
    """Draws a hook that is rejected: on a constant or a detached value, or a hook after accumulation on a value that is
    no leaf.
    """
    b.require(Capability.HOOKS)
    value = computed(b, *SHAPES)
    if b.can(Capability.ACCUMULATED_HOOKS) and b.below(2):
        b.actions.hook(value, accumulated=True)
    elif b.can(Capability.DETACH) and b.below(2):
        b.actions.hook(b.detach(value))
    else:
        b.require(Capability.CONSTANTS)
        b.actions.hook(
            b.leaf_of(SHAPES, requires_grad=False),
            accumulated=b.can(Capability.ACCUMULATED_HOOKS) and not b.below(4),
        )
    b.actions.backward(value)


def _failing_hook(b: Draft, effect: str) -> None:
    value, leaf = _hooked(b)
    other = b.leaf_of(SHAPES)
    root = joined(
        b, [_root(b, value), b.ops.nonlinear(other)] if b.below(2) else [b.ops.nonlinear(other), _root(b, value)]
    )
    if b.below(3) == 2:
        b.actions.hook(value)
    handle = b.actions.hook(value, effect)
    if b.can(Capability.RETAIN) and b.below(3) == 2:
        b.actions.backward(b.ops.nonlinear(leaf), retain=True)
    b.actions.backward(root, retain=True if b.can(Capability.RETAIN) else None)
    if b.below(2):
        b.actions.remove_hook(handle)
        b.actions.zero_grad(leaf, other)
        b.actions.backward(root if b.can(Capability.RETAIN) and b.below(2) else _root(b, value))


@action_situation
def raising_hooks(b: Draft) -> None:
    """Draws a backward call that fails because a hook raises, and perhaps the hook's removal and a call that works."""
    b.require(Capability.HOOKS)
    _failing_hook(b, "raise")


@action_situation
def misshaping_hooks(b: Draft) -> None:
    """Draws a backward call that fails because a hook returns a gradient of another shape, and perhaps the hook's
    removal and a call that works.
    """
    b.require(Capability.HOOKS)
    _failing_hook(b, "misshape")


# -- retained gradients ------------------------------------------------------------------------------------------------


@action_situation
def retained_gradients(b: Draft) -> None:
    """Draws values that retain their gradient (`retain_grad`), over several calls, with hooks, after in-place writes,
    and with functional calls.
    """
    b.require(Capability.RETAINS_GRAD)
    value = computed(b, *SHAPES)
    value = view(b, value, 1) if b.can(Capability.VIEWS) and b.below(4) == 3 else value
    maybe_end_region(b)
    if b.can(Capability.WRITES) and b.below(4) == 3:
        b.writes.to(value, b.pick(("mul_scalar_", "add_scalar_")))
    first = b.below(2)
    root = None if first else _root(b, value)
    b.actions.retain_grad(value)
    if b.can(Capability.HOOKS) and b.below(3) == 2:
        b.actions.hook(value, *b.pick(CHANGING[:3]))
    if b.below(4) == 3:
        b.actions.retain_grad(value)
    root = _root(b, value) if root is None else root
    if b.can(Capability.RETAIN):
        for _ in range(b.below(3)):
            b.actions.backward(root, retain=True)
        if b.can(Capability.FUNCTIONAL) and b.below(4) == 3:
            b.actions.grad([root], [b.script.leaves[0]], True, unused=True)
        if b.below(4) == 3:
            b.actions.zero_grad(value, to_none=bool(b.below(2)))
    b.actions.backward(root)


@action_situation
def refused_retains(b: Draft) -> None:
    """Draws `retain_grad` on a constant or a detached value, which is rejected."""
    b.require(Capability.RETAINS_GRAD)
    value = computed(b, *SHAPES)
    if b.can(Capability.DETACH) and b.below(2):
        target = b.detach(value)
    else:
        b.require(Capability.CONSTANTS)
        target = b.leaf_of(SHAPES, requires_grad=False)
        target = b.ops.nonlinear(target) if b.below(2) else target
    b.actions.retain_grad(target)
    b.actions.backward(value)
