"""Programs drawn for the rules about grad modes: ops, in-place writes and calls under `no_grad` and `enable_grad`, and
changes of `requires_grad`.
"""

from __future__ import annotations

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Ref
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.situations.base import (
    FREEING,
    VIEW_OPS,
    action_situation,
    computed,
    joined,
    joining,
    unaliased,
    view,
)

OFF = (("no_grad",), ("no_grad", "no_grad"), ("enable_grad", "no_grad"), ("no_grad", "enable_grad", "no_grad"))
ON = (("no_grad", "enable_grad"), ("enable_grad",), ("no_grad", "no_grad", "enable_grad"))
"""Nested grad modes in which recording is off (`OFF`) and on (`ON`)."""


def _source(b: Draft) -> Ref:
    """Draws a leaf or a result that requires grad."""
    return computed(b) if b.below(2) else b.leaf_of(((3,), (2, 3), (), (2, 2)))


def _uses(b: Draft, *values: Ref) -> Ref:
    """Combines values into one by ops, after applying an op to some of the values."""
    return joined(b, [b.ops.nonlinear(v) if b.below(2) else v for v in values])


@action_situation
def unrecorded(b: Draft) -> None:
    """Draws ops under `no_grad`, perhaps nested with other grad modes, on a value that requires grad, and a backward
    call on that value or on one computed from it and the unrecorded result.
    """
    b.require(Capability.MODES)
    source = _source(b)
    with b.under(*b.pick(OFF)):
        if not b.below(3):
            with b.under("enable_grad"):
                unaliased(b, source)
        made = unaliased(b, source)
        for _ in range(b.below(3)):
            made = unaliased(b, made)
    b.actions.backward(_uses(b, source, made) if b.below(2) else source)


@action_situation
def unrecorded_views(b: Draft) -> None:
    """Draws a view, made under `no_grad`, of a value that requires grad, and a backward call on that value."""
    b.require(Capability.MODES)
    source = _source(b)
    b.ops.portable = False
    with b.under("no_grad"):
        view(b, source, 1)
    b.actions.backward(source)


@action_situation
def recorded(b: Draft) -> None:
    """Draws ops under `enable_grad`, alone or inside `no_grad`, which are recorded, and a backward call on their
    result.
    """
    b.require(Capability.MODES)
    source = _source(b)
    with b.under(*b.pick(ON)):
        made = unaliased(b, source)
        made = made if b.requires(made) else b.ops.nonlinear(source)
        made = b.ops.successor(made) if b.below(2) else made
    b.actions.backward(
        b.ops.successor(made) if b.below(2) else made, retain=b.pick(FREEING) if b.can(Capability.RETAIN) else None
    )


@action_situation
def restored(b: Draft) -> None:
    """Draws a `no_grad` block whose last instruction may raise, then ops outside the block, perhaps the same as inside,
    which must be recorded again.
    """
    b.require(Capability.MODES)
    source = _source(b)
    with b.under(*b.pick(OFF)):
        made = unaliased(b, source)
        _fail(b, source)
    made = b.ops.rebuild(made) if b.below(2) else unaliased(b, source)
    made = made if b.requires(made) else b.ops.nonlinear(source)
    b.actions.backward(made)


def _fail(b: Draft, source: Ref) -> None:
    """Adds, with some probability, an instruction that raises under `no_grad`, if the framework claims to raise any
    error that can be provoked there.
    """
    options = [
        *(["root"] if b.can(Capability.NO_GRAD_CHECK) else []),
        *(["set_requires_grad"] if b.can(Capability.SWITCHES) and not b.reference.tape.is_leaf(source) else []),
        *(["option"] if b.can(Capability.FUNCTIONAL) else []),
        *(["freed"] if b.can(Capability.FREES) else []),
    ]
    match b.pick([None, *options]):
        case "root":
            b.actions.backward(b.ops.nonlinear(source))
        case "set_requires_grad":
            b.actions.set_requires_grad(source, False)
        case "option":
            b.actions.grad([source], [source], unused=False, materialize=True)
        case "freed":
            with b.under("enable_grad"):
                root = b.ops.nonlinear(source)
            b.actions.backward(root)
            b.actions.backward(root)


@action_situation
def constants(b: Draft) -> None:
    """Draws an op with one operand computed under `no_grad` and one that requires grad, and a backward call on the
    result.
    """
    b.require(Capability.MODES)
    source = _source(b)
    with b.under(*b.pick(OFF)):
        constant = b.ops.nonlinear(source)
    other = b.pick((source, b.leaf(value=b.operands.tensor(b.shape(constant), b.dtypes[constant]))))
    join = joining(b, ("multiply", "add", "subtract"))
    made = join(other, constant) if b.below(2) else join(constant, other)
    b.actions.backward(b.ops.successor(made) if b.below(2) else made)


@action_situation
def constant_roots(b: Draft) -> None:
    """Draws a backward call, under `no_grad` or after it, on a value computed under `no_grad`."""
    b.require(Capability.MODES)
    source = _source(b)
    modes = b.pick(OFF)
    with b.under(*modes):
        root = unaliased(b, source)
        root = unaliased(b, root) if b.below(2) else root
    with b.under(*(modes if b.below(2) else ())):
        b.actions.backward(root)
    b.actions.backward(source)


@action_situation
def unrecorded_calls(b: Draft) -> None:
    """Draws a backward or functional call under `no_grad` on a graph that was recorded before."""
    b.require(Capability.MODES)
    root = _uses(b, *(_source(b) for _ in range(1 + b.below(2))))
    root = b.ops.nonlinear(root)
    with b.under(*b.pick(OFF)):
        if b.can(Capability.FUNCTIONAL) and b.below(3) == 2:
            b.actions.grad([root], [b.pick(b.script.leaves)], unused=True)
        else:
            b.actions.backward(root, retain=True if b.can(Capability.RETAIN) and b.below(2) else None)
    if b.below(2):
        b.actions.backward(root)


@action_situation
def unrecorded_writes(b: Draft) -> None:
    """Draws an in-place write under `no_grad` to a leaf or a result, whose history stays unchanged; or a write of a
    value that requires grad into a constant, which stays a constant.
    """
    b.require(Capability.MODES, Capability.WRITES)
    target = _source(b)
    if b.can(Capability.CONSTANTS) and b.below(10) == 9:
        constant = b.leaf(value=b.operands.tensor(b.shape(target), b.dtypes[target]), requires_grad=False)
        with b.under(*b.pick(OFF)):
            b.writes.to(constant, b.pick(("copy_", "add_", "mul_")), source=target)
        b.actions.backward(b.apply(b.pick(b.available("multiply", "add")), (target, constant))[0])
        return
    chosen = view(b, target) if b.can(Capability.VIEWS) and b.below(3) == 2 else target
    with b.under(*b.pick(OFF)):
        b.writes.to(chosen)
        if b.below(3) == 2:
            b.writes.to(target)
    b.actions.backward(b.ops.nonlinear(target) if b.below(4) else target)


# -- requires_grad -----------------------------------------------------------------------------------------------------


@action_situation
def frozen_leaves(b: Draft) -> None:
    """Draws a leaf whose `requires_grad` is set to False between forward and backward, and perhaps to True again."""
    b.require(Capability.SWITCHES)
    leaf, other = b.leaf_of(((3,), (2, 3), ())), b.vector()
    root = _uses(b, b.ops.nonlinear(leaf), other) if b.below(2) else b.ops.nonlinear(leaf)
    if b.below(2) and b.can(Capability.RETAIN):
        b.actions.backward(root, retain=True)
    b.actions.set_requires_grad(leaf, False)
    b.actions.backward(root, retain=True if b.can(Capability.RETAIN) else None)
    if b.below(2):
        b.actions.set_requires_grad(leaf, True)
        b.actions.backward(root if b.can(Capability.RETAIN) else b.ops.nonlinear(leaf))


@action_situation
def frozen_results(b: Draft) -> None:
    """Draws an instruction that sets `requires_grad` to False on a value that is no leaf, which is rejected, and a
    backward call on the value's graph, which stays legal.
    """
    b.require(Capability.SWITCHES)
    value = computed(b)
    value = view(b, value) if b.below(3) == 2 and any(n in b.alphabet.ops for n in VIEW_OPS) else value
    root = b.ops.successor(value) if b.below(2) else value
    b.actions.set_requires_grad(value, False)
    b.actions.backward(root)


@action_situation
def unfrozen_constants(b: Draft) -> None:
    """Draws an instruction that sets `requires_grad` to True on a constant or a detached value, and backward calls,
    which give the value gradients.
    """
    b.require(Capability.SWITCHES)
    if b.can(Capability.DETACH) and b.below(2):
        source = computed(b)
        leaf = b.detach(view(b, source) if b.can(Capability.VIEWS) and b.below(2) else source)
    else:
        b.require(Capability.CONSTANTS)
        leaf = b.leaf_of(((3,), (2, 3), ()), requires_grad=False)
    b.actions.set_requires_grad(leaf, True)
    b.actions.backward(b.ops.nonlinear(leaf))
    if b.below(2):
        b.actions.backward(b.ops.nonlinear(leaf))
