"""Programs drawn for the rules about in-place writes: to values, aliases and leaves, and to tensors that a graph
saved.
"""

from __future__ import annotations

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import InPlace, Literal, Ref, Step
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.strategies.building import layouts
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.building.optimizers import plain_optimizer
from autograd_conformance.strategies.building.unsupported import Unsupported
from autograd_conformance.strategies.situations.base import (
    FREEING,
    LEAF_SHAPES,
    action_situation,
    alias,
    chain,
    computed,
    maybe_end_region,
    situation,
    unaliased,
    view,
)

GAPS: tuple[layouts.Layout, ...] = ("stepped", "columns", "offset")
"""Layouts in which other elements of the base are between or before a value's elements in memory."""

LINEAR = ("negative", "add", "subtract", "mean", "sum", "flip")
"""Ops whose derivatives need no saved tensor."""


def around(b: Draft) -> list[str]:
    """Draws the grad modes of an in-place write: mostly none, sometimes `no_grad`."""
    return ["no_grad"] if b.can(Capability.MODES) and b.below(4) == 3 else []


@action_situation
def single_writes(b: Draft, name: str) -> None:
    """Draws one in-place write, by the op called `name`, to a copy of a fresh leaf or to a strided part of the copy,
    with operands that may require grad; then a backward call on the target or on the whole copy.
    """
    b.require(Capability.WRITES)
    b.writes.require(name)
    row = b.alphabet.row(name)
    for _ in range(3):
        value = b.operands.tensor(b.pick(b.alphabet.shapes(row.fresh)), domain=row.domain(0))
        copy, target = _copied(b, value, bool(b.below(4)))
        if b.writes.to(target, name):
            break
    if b.requires(target):
        b.actions.backward(copy if b.below(3) == 2 else target)


def _copied(b: Draft, value: Literal, requires_grad: bool) -> tuple[Ref, Ref]:
    """Makes a copy of a leaf, and returns the copy and the strided part of it that contains `value`, or the copy twice
    if it contains nothing else.
    """
    (clone,) = b.available("clone")
    array = np.array(value.data, value.dtype).reshape(value.shape)
    layout = b.pick((None, None, *GAPS)) if b.can(Capability.VIEWS) else None
    part = None if layout is None else layouts.view(array, layout)
    if part is None or part.op not in b.alphabet.ops:
        (copy,) = b.apply(clone, (b.leaf(value=value, requires_grad=requires_grad),))
        return copy, copy
    (copy,) = b.apply(clone, (b.leaf(value=part.literal, requires_grad=requires_grad),))
    return copy, b.apply(part.op, (copy,), part.attrs)[0]


@action_situation
def written_values(b: Draft) -> None:
    """Draws one to four in-place writes to results, constants and leaves, with unrelated values beside them."""
    b.require(Capability.WRITES)
    values = [computed(b), b.leaf(requires_grad=False), b.leaf()][: 2 + b.below(2)]
    for _ in range(1 + b.below(4)):
        target = b.pick(values)
        leaf = b.requires(target) and b.reference.tape.is_leaf(target)
        if leaf and not b.can(Capability.MODES):
            continue
        with b.under(*(["no_grad"] if leaf else around(b))):
            b.writes.to(target)
        if b.below(3) == 2:
            values.append(unaliased(b, b.pick(values)))
    _call(b, values)


def _call(b: Draft, values: list[Ref]) -> None:
    """Adds a backward call on a new value, computed from one of `values` that requires grad if there is one."""
    roots = [r for r in values if b.requires(r) and b.reference.values[r].size]
    b.actions.backward(unaliased(b, b.choices.recent(roots) if roots else computed(b)))


@action_situation
def written_aliases(b: Draft) -> None:
    """Draws values that share memory (views, views of views, detached ones), and in-place writes to one or two of
    them.
    """
    b.require(Capability.WRITES, Capability.VIEWS)
    buffer = not b.below(4)
    values = [b.leaf_of(((3,), (2, 3), (2, 2)), requires_grad=False) if buffer else computed(b)]
    for _ in range(1 + b.below(3)):
        values.append(alias(b, b.choices.recent(values)))
    constant = buffer or not all(b.requires(r) for r in values)
    for _ in range(1 if constant else 1 + b.below(2)):
        with b.under(*around(b)):
            b.writes.to(b.pick(values))
    _call(b, values)


@action_situation
def recorded_writes(b: Draft) -> None:
    """Draws a value, one to three recorded in-place writes to it, and a backward call on it or on a value computed from
    it.
    """
    b.require(Capability.WRITES)
    if b.below(3):
        target = computed(b)
    else:  # a constant buffer, into which a value that requires grad is written
        target = unaliased(b, b.leaf_of(((3,), (2, 3), (2, 2)), requires_grad=False))
    for _ in range(1 + b.below(3)):
        if b.requires(target) and b.below(6) == 5:
            b.script.add(InPlace(b.pick(("mul_", "add_", "sub_")), target, (target,)))
        else:
            _record(b, target)
        if b.below(3) == 2:
            unaliased(b, target)
    root = unaliased(b, target) if b.below(2) else target
    b.actions.backward(
        root if b.requires(root) else target, retain=b.pick(FREEING) if b.can(Capability.RETAIN) else None
    )


def _record(b: Draft, target: Ref) -> None:
    """Adds a recorded in-place write to `target`: any write if it requires grad, else a write of a value that requires
    grad.
    """
    if b.requires(target):
        b.writes.to(target)
        return
    shape, dtype = b.shape(target), b.dtypes[target]
    source = b.leaf(value=b.operands.tensor(shape, dtype))
    source = unaliased(b, source) if b.below(2) else source
    if b.shape(source) != shape or b.dtypes[source] != dtype or not b.requires(source):
        source = b.leaf(value=b.operands.tensor(shape, dtype))
    b.writes.to(target, b.pick(("copy_", "add_", "mul_", "sub_")), source)


@action_situation
def requiring_writes(b: Draft) -> None:
    """Draws an in-place write of a value that requires grad into one that may not: the target then has to require
    grad.
    """
    b.require(Capability.WRITES)
    if b.below(2):
        target = b.leaf_of(((3,), (2, 3), ()), requires_grad=False)
    else:
        target = computed(b, (3,), (2, 3), ())
    source = computed(b, b.shape(target), most=1)
    if b.dtypes[source] != b.dtypes[target]:
        return
    b.writes.to(target, b.pick(("copy_", "add_", "mul_")), source)
    b.actions.backward(unaliased(b, target) if b.below(2) else target)


@action_situation
def written_leaves(b: Draft) -> None:
    """Draws a recorded in-place write to a leaf that requires grad, or to a view of one, which is rejected, and a
    backward call, which stays legal.
    """
    b.require(Capability.WRITES, Capability.WRITE_CHECKS)
    leaf = b.leaf_of(((3,), (2, 3), (), (2, 2)))
    root = unaliased(b, leaf)
    target = view(b, leaf) if b.can(Capability.VIEWS) and b.below(2) else leaf
    maybe_end_region(b)  # if a region raises, the values that it leaves are unspecified
    modes = ("no_grad", "enable_grad") if b.can(Capability.MODES) and b.below(4) == 3 else ()
    with b.under(*modes):
        b.writes.to(target)
    if b.requires(root):
        b.actions.backward(root)


# -- writes to operands and results of a graph -------------------------------------------------------------------------


@action_situation
def written_saved(b: Draft) -> None:
    """Draws an in-place write, directly or through an alias, to a saved tensor that a derivative needs, and a backward
    call.
    """
    b.require(Capability.WRITES)
    value = computed(b, most=1)
    names = b.available(
        "multiply", "sin", "exp", "square", "tanh", "sigmoid", "matmul", "divide", "softmax", "std", "prod"
    )
    made = b.ops.draw(b.pick(names), on=value)[0]
    if value not in b.reference.tape.entries[-1].args or not b.reference.values[made].size or not b.requires(made):
        made = b.ops.nonlinear(value)
    target = b.pick((value, made))
    root = b.ops.successor(made) if b.below(2) or target == made else made
    if b.can(Capability.RETAIN) and b.below(4) == 3:
        b.actions.backward(root, retain=True)
    _reach(b, target)
    b.actions.backward(root)


def _reach(b: Draft, target: Ref) -> None:
    """Adds an in-place write to a value, a view of it or its detached alias, recorded or not."""
    if b.can(Capability.VIEWS) and b.below(2):
        target = alias(b, target)
    with b.under(*around(b)):
        if not b.writes.to(target):
            b.writes.to(target, "zero_")


@action_situation
def written_parameters(b: Draft) -> None:
    """Draws an in-place write under `no_grad` to a leaf that a retained graph saved, as a hand-written optimizer does;
    then a backward call on that graph.
    """
    b.require(Capability.WRITES, Capability.MODES, Capability.RETAIN)
    leaf = b.leaf_of(((3,), (2, 3), ()))
    target = view(b, leaf) if b.can(Capability.VIEWS) and b.below(3) == 2 else leaf
    root = b.ops.successor(b.ops.nonlinear(leaf))
    b.actions.backward(root, retain=True)
    with b.under("no_grad"):
        if b.can(Capability.ASSIGNS) and b.below(2):
            b.writes.to(leaf, "sub_", b.actions.read_grad(leaf))
        else:
            b.writes.to(target)
    b.actions.backward(root, retain=b.pick((None, True)))


@action_situation
def written_unneeded(b: Draft) -> None:
    """Draws an in-place write to a value that no derivative needs, and a backward call on a value computed from it
    earlier.
    """
    b.require(Capability.WRITES)
    require_known_needs(b)
    start = computed(b, (3,), (2, 3), (2, 2), most=1) if b.below(2) else b.leaf_of(((3,), (2, 3), (2, 2)))
    value = made = b.apply(b.pick(b.available("negative", "clone")), (start,))[0]
    for _ in range(1 + b.below(3)):
        made = b.ops.draw(b.pick(b.available(*LINEAR)), on=made)[0]
    _unneeded(b, value)
    b.actions.backward(made if b.requires(made) else value)


def require_known_needs(b: Draft) -> None:
    """Raises `Unsupported` if the framework makes one graph node of several instructions that it compiles or
    checkpoints as one function, because the node's derivative may need any of their values.
    """
    if b.alphabet.traits.one_node:
        raise Unsupported("a region is one graph node, whose derivative may need any of its values")


def _unneeded(b: Draft, value: Ref) -> None:
    """Adds an in-place write to a value that no derivative needs, or to an alias of it; the write's own derivative does
    not need the value either.
    """
    target = alias(b, value) if b.can(Capability.VIEWS) and b.below(2) else value
    b.writes.to(target, b.pick(("add_", "zero_", "mul_scalar_", "fill_", "copy_")))


# -- unspecified writes ------------------------------------------------------------------------------------------------


@action_situation
def overlapping_writes(b: Draft) -> None:
    """Draws an in-place write to a value whose elements overlap in memory, or one whose operand overlaps its target."""
    b.require(Capability.WRITES, Capability.VIEWS)
    value = computed(b, (3,), (3, 3), (2, 2))
    match b.below(3):
        case 0:
            target = value
            for _ in range(3):
                target = b.ops.draw(b.pick(b.available("broadcast_to", "unfold")), on=value)[0]
                if b.reference.storages.overlaps_itself(target):
                    break
            b.writes.to(target)
        case 1:
            (view,) = b.apply(b.available("slice")[0], (value,), b.alphabet.attributes("slice", b.shape(value))[0])
            b.script.add(InPlace("set_slice_", value, (view,), (("start", 0), ("stop", b.shape(view)[0]), ("step", 1))))
        case _:
            square = computed(b, (3, 3), (2, 2), most=1)
            (view,) = b.apply(b.available("matrix_transpose")[0], (square,))
            b.script.add(
                InPlace(b.pick(("copy_", "add_", "mul_")), *((view, (square,)) if b.below(2) else (square, (view,))))
            )
    b.actions.backward(b.leaf(()))


@situation
def written_between(b: Draft) -> None:
    """Draws a backward call that retains its graph, an optimizer's step on a leaf that the graph saved, and another
    call: an error, or the gradient of the recorded values.
    """
    leaf = b.leaf_of(LEAF_SHAPES)
    root = chain(b, leaf)
    b.actions.backward(root, retain=True)
    b.script.add(Step((leaf,), *plain_optimizer(b)))
    b.actions.backward(root, retain=b.pick((None, True)))


@situation
def written_unsaved(b: Draft) -> None:
    """Draws a retained graph that does not need the leaf that an optimizer's step changes, and another backward
    call.
    """
    require_known_needs(b)
    leaf = b.leaf_of(LEAF_SHAPES)
    value = leaf
    for _ in range(1 + b.below(3)):
        name = b.pick(b.available("negative", "add", "subtract"))
        value = b.apply(name, (value,) if name == "negative" else (value, leaf))[0]
    b.actions.backward(value, retain=True)
    b.script.add(Step((leaf,), *plain_optimizer(b)))
    b.actions.backward(value, retain=b.pick((None, True)))
