"""The actions of a sequence that have to do with gradients: backward and functional calls, `.grad`, and hooks."""

from __future__ import annotations

import math

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Backward, Hook, Literal, Ref
from autograd_conformance.strategies.building.spared import is_spared
from autograd_conformance.strategies.sequences.table import Sequence, action

FACTORS = (2.0, 0.5, -1.0)

BOUNDS = (1.0, 0.125, 100.0)
"""The bounds to which gradients are clipped."""


@action(5)
def backward(s: Sequence) -> None:
    """Adds a backward call on a drawn root, mostly one on which the call is legal."""
    root = s.root()
    if root is not None:
        s.called.append(root)
        s.b.actions.backward(root, retain=s.retain())


@action(2)
def repeat_call(s: Sequence) -> None:
    """Adds a backward call on an earlier call's root."""
    called = [r for r in s.called if r in s.b.script.live]
    if called:
        s.b.actions.backward(s.one_of(called), retain=s.retain())


@action(1)
def several(s: Sequence) -> None:
    """Adds one backward call on two drawn roots, which may be the same."""
    one, other = s.root(), s.root()
    if one is not None and other is not None and s.b.can(Capability.MULTIPLE_ROOTS):
        s.called.append(one)
        s.b.actions.backward(one, other, retain=s.retain())


@action(2)
def create(s: Sequence) -> None:
    """Adds a backward call with create_graph, and perhaps reads a gradient as a value."""
    root = s.root()
    if root is None or not s.b.can(Capability.CREATE_GRAPH) or not s.smooth(root):
        return
    s.called.append(root)
    s.b.actions.backward(root, create=True, retain=s.b.pick((None, None, False)))
    reached = [r for r in s.b.script.leaves if s.b.actions.holds_grad(r)]
    if reached and not s.b.script.fails and s.b.can(Capability.ASSIGNS):
        s.move(s.b.actions.read_grad(s.one_of(reached)))


@action(2)
def inputs(s: Sequence) -> None:
    """Adds a backward call restricted to one or two drawn values that require grad, which the root need not depend
    on.
    """
    root = s.root()
    if root is not None and s.b.can(Capability.INPUTS):
        into = [r for r in s.b.script.live if s.b.requires(r)]
        chosen = dict.fromkeys(s.one_of(into) for _ in range(1 + s.b.below(2)))
        s.b.actions.backward(root, retain=s.retain(), inputs=tuple(chosen))


@action(3)
def grad(s: Sequence) -> None:
    """Adds a functional call, mostly for inputs that the root depends on. Its results can be used like all values."""
    b, root = s.b, s.root()
    if root is None or not b.can(Capability.FUNCTIONAL):
        return
    reached_edges = b.reference.pullbacks.of(_plain(root, s)) if b.below(6) else {}
    reached = [r for r in b.script.live if b.requires(r) and b.reference.tape.edge(r) in reached_edges and r != root]
    options = reached or [r for r in b.script.live if b.requires(r)]
    chosen = [s.one_of(options) for _ in range(1 + b.below(3))]
    if b.below(4):
        chosen = list(dict.fromkeys(chosen))
    creates = b.can(Capability.CREATE_GRAPH) and s.smooth(root) and not b.below(2)
    unused = b.pick((None, True, True, False))
    made = b.actions.grad([root], chosen, s.retain(), creates, unused, materialize=bool(unused and not b.below(3)))
    if made:
        s.move(made[0])


def _plain(root: Ref, s: Sequence) -> Backward:
    shape = s.b.shape(root)
    return Backward((root,), (Literal((1.0,) * math.prod(shape), shape),))


@action(1)
def refused(s: Sequence) -> None:
    """Adds a backward call that is mostly rejected: without a cotangent or with one of two elements, on any value, even
    one without history.
    """
    root = s.value()
    if ways := s.b.actions.refused_cotangents(root):
        s.b.actions.backward(root, cotangents=[s.b.pick(ways)], retain=True)


@action(1)
def zero_grad(s: Sequence) -> None:
    """Adds an instruction that clears a leaf's gradient."""
    at = s.leaf()
    if at is not None:
        s.b.actions.zero_grad(at, to_none=not s.b.below(2))


@action(2)
def read_grad(s: Sequence) -> None:
    """Adds a read of a leaf's `.grad` as a value."""
    holding = [r for r in s.b.script.leaves if s.b.actions.holds_grad(r)]
    if holding and s.b.can(Capability.ASSIGNS):
        s.move(s.b.actions.read_grad(s.one_of(holding)))


@action(1)
def assign_grad(s: Sequence) -> None:
    """Adds an assignment to a leaf's `.grad` of another value of its shape, or of None."""
    b, at = s.b, s.leaf()
    if at is None or not b.can(Capability.ASSIGNS):
        return
    memory = b.reference.storages
    fitting = [
        r
        for r in b.script.live
        if b.shape(r) == b.shape(at) and b.dtypes[r] == b.dtypes[at] and r != at and not b.requires(r)
        and memory.storage(r) != memory.storage(at) and not memory.overlaps_itself(r)
    ]  # fmt: skip
    b.actions.assign_grad(at, s.one_of(fitting) if fitting and b.below(4) else None)


@action(2)
def hook(s: Sequence) -> None:
    """Adds a hook to a value, to a leaf perhaps one after accumulation. Sometimes the hook raises or returns a wrong
    shape.
    """
    b = s.b
    options = [r for r in b.script.live if b.requires(r)]
    if not options or not b.can(Capability.HOOKS):
        return
    target = s.one_of(options)
    if is_spared(b.reference, Hook(target), b.alphabet.spared):
        return
    if b.reference.tape.is_leaf(target) and b.can(Capability.ACCUMULATED_HOOKS) and not b.below(4):
        s.handles.append(b.actions.hook(target, accumulated=True))
        return
    effect = b.pick(("observe", "scale", "observe", "scale", "replace", "raise", "misshape"))
    s.handles.append(b.actions.hook(target, effect, b.pick(FACTORS) if effect in ("scale", "replace") else 1.0))


@action(1)
def remove_hook(s: Sequence) -> None:
    """Adds the removal of the newest hook."""
    if s.handles:
        s.b.actions.remove_hook(s.handles.pop())


@action(1)
def retain(s: Sequence) -> None:
    """Adds a `retain_grad` of a value that is no leaf."""
    made = [r for r in s.b.script.live if s.b.requires(r) and not s.b.reference.tape.is_leaf(r)]
    if made and s.b.can(Capability.RETAINS_GRAD):
        s.b.actions.retain_grad(s.one_of(made))


@action(1)
def clip(s: Sequence) -> None:
    """Adds the clipping of the gradients of one leaf, or of up to three of the newest."""
    if s.b.script.leaves and s.b.can(Capability.CLIPS):
        leaves = s.b.script.leaves[-3:] if s.b.below(3) == 2 else [s.one_of(s.b.script.leaves)]
        s.b.actions.clip(leaves, s.b.pick(("norm", "value")), s.b.pick(BOUNDS))


@action(1)
def write_grad(s: Sequence) -> None:
    """Adds a write to the gradient that a leaf holds."""
    holding = [r for r in s.b.script.leaves if s.b.actions.holds_grad(r)]
    if holding and s.b.can(Capability.ASSIGNS, Capability.WRITES, Capability.MODES):
        read = s.b.actions.read_grad(s.one_of(holding))
        if not s.b.script.fails:
            with s.b.under("no_grad"):
                s.b.writes.to(read)
