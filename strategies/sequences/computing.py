"""The actions of a sequence that compute values and write to them in place."""

from __future__ import annotations

from autograd_conformance.ops.rows.row import Certainty
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.hazards import Hazard
from autograd_conformance.programs.language import Apply, Leaf, Shape
from autograd_conformance.strategies.building.optimizers import plain_optimizer
from autograd_conformance.strategies.building.spared import is_kept_result
from autograd_conformance.strategies.sequences.table import SHAPES, Sequence, action
from autograd_conformance.strategies.situations.base import alias, joined

VIEWS = tuple(name for name, op in OPS.items() if op.aliases is not Certainty.NEVER)


PASSING = ("clone", "positive", "add_scalar", "add", "subtract", "reshape", "expand_dims")
"""Ops whose gradient with respect to the first operand is the cotangent."""

EMPTY: tuple[Shape, ...] = ((0,), (0, 3))


# -- computing --------------------------------------------------------------------------------------------------------


@action(7)
def op(s: Sequence) -> None:
    """Adds any op on any values."""
    s.move(s.b.ops.draw(on=s.focus if s.focus in s.b.script.live else None)[0])


@action(3)
def deeper(s: Sequence) -> None:
    """Adds any op on the newest value, so that graphs grow deep."""
    s.b.ops.draw(on=s.b.script.live[-1])


@action(3)
def view(s: Sequence) -> None:
    """Adds a view of a value. Under grad modes, only of values that require no grad, because frameworks differ for
    others.
    """
    names = [name for name in VIEWS if name in s.b.alphabet.ops]
    source = s.value()
    if names and not (s.b.script.modes and s.b.requires(source)):
        s.move(s.b.ops.draw(s.b.pick(names), on=source)[0])


@action(1)
def join(s: Sequence) -> None:
    """Combines two values, perhaps the same one twice, by `add`, or by another op if the framework has no `add`."""
    s.move(joined(s.b, [s.value(), s.value()]))


@action(1)
def leaf(s: Sequence) -> None:
    """Adds a fresh leaf, which may require no grad."""
    shape = s.b.pick(s.b.alphabet.shapes(SHAPES))
    s.b.leaf(shape, requires_grad=bool(s.b.below(3)))


@action(1)
def twin(s: Sequence) -> None:
    """Adds a leaf with the values of another leaf."""
    old = s.leaf()
    step = None if old is None else s.b.reference.steps[old.at]
    if isinstance(step, Leaf):
        s.b.leaf(value=step.value)


@action(1)
def fan(s: Sequence) -> None:
    """Uses a value three times, and combines the results."""
    value = s.value()
    joined(s.b, [s.b.ops.successor(value) for _ in range(3)])


@action(1)
def twice(s: Sequence) -> None:
    """Applies an op with one value for all its operands."""
    s.move(s.b.ops.nonlinear(s.value()))


@action(1)
def passed(s: Sequence) -> None:
    """Applies an op that passes its gradient on unchanged."""
    names = [name for name in PASSING if name in s.b.alphabet.ops]
    if names:
        s.move(s.b.ops.draw(s.b.pick(names), on=s.value())[0])


@action(1)
def empty(s: Sequence) -> None:
    """Adds a leaf without elements."""
    shapes = [shape for shape in EMPTY if s.b.alphabet.admits(shape)]
    if shapes:
        s.move(s.b.leaf(s.b.pick(shapes)))


@action(1)
def again(s: Sequence) -> None:
    """Applies the op of an earlier value again, to its first operand as it is now, with newly drawn attributes and
    other operands.
    """
    made = [r for r in s.b.script.op_results() if isinstance(s.b.reference.steps[r.at], Apply)]
    if made:
        step = s.b.reference.steps[s.one_of(made).at]
        assert isinstance(step, Apply)
        if all(r in s.b.script.live for r in step.args):
            s.b.ops.draw(step.op, on=step.args[0])


@action(1)
def detach(s: Sequence) -> None:
    """Adds the detached alias of a value, in half of the draws set to require grad."""
    if s.b.can(Capability.DETACH):
        made = s.b.detach(s.value())
        if s.b.can(Capability.SWITCHES) and s.b.below(2):
            s.b.actions.set_requires_grad(made, True)
        s.move(made)


@action(1)
def delete(s: Sequence) -> None:
    """Deletes a value that is neither a leaf nor the root of an earlier call."""
    options = [r for r in s.b.script.live if r not in s.b.script.leaves and r not in s.called]
    if len(options) > 1:
        s.b.actions.delete(s.b.pick(options[::-1]))


@action(2)
def mode(s: Sequence) -> None:
    """Begins a grad mode for the following instructions, such as `no_grad`, or ends the one in effect."""
    if s.b.can(Capability.MODES):
        s.b.script.modes = (
            () if s.b.script.modes else s.b.pick((("no_grad",), ("no_grad", "enable_grad"), ("enable_grad",)))
        )


# -- writing ----------------------------------------------------------------------------------------------------------


@action(4)
def write(s: Sequence) -> None:
    """Adds an in-place write to a value, recorded or not depending on the grad mode."""
    b = s.b
    if not b.can(Capability.WRITES):
        return
    options = [
        r for r in b.script.live if b.script.modes or not (b.requires(r) and b.reference.tape.is_leaf(r))
    ] or b.script.live
    target = s.one_of(options) if b.below(8) else s.value()
    memory = b.reference.storages
    if memory.overlaps_itself(target) or (target in memory.restricted and b.below(4)):
        return
    if is_kept_result(b.reference, target) and Hazard.WRITTEN_RESULT in b.alphabet.spared:
        return
    b.writes.to(target)


@action(2)
def unrecorded_write(s: Sequence) -> None:
    """Adds an in-place write under `no_grad` to a value that a graph may have saved."""
    if s.b.can(Capability.WRITES, Capability.MODES):
        outer, s.b.script.modes = s.b.script.modes, ("no_grad",)
        write(s)
        s.b.script.modes = outer


@action(1)
def write_alias(s: Sequence) -> None:
    """Makes a view or a detached name of a value, and adds a write to it, recorded or not."""
    b = s.b
    if b.can(Capability.WRITES):
        made = alias(b, s.value())
        with b.under(*(("no_grad",) if b.can(Capability.MODES) and b.below(2) else ())):
            if not b.reference.storages.overlaps_itself(made):
                b.writes.to(made)


@action(1)
def detach_in_place(s: Sequence) -> None:
    """Adds an instruction that detaches a value in place."""
    b = s.b
    made = [
        r
        for r in b.script.op_results()
        if r not in b.reference.calls.retained and r not in b.reference.storages.views_of
    ]
    if made and b.can(Capability.DETACH, Capability.WRITES, Capability.DETACHES_IN_PLACE):
        b.actions.detach_in_place(s.one_of(made))


@action(1)
def step(s: Sequence) -> None:
    """Adds an optimizer's step on one leaf, or on up to three of the newest, with or without gradients."""
    leaves = [r for r in s.b.script.leaves if s.b.requires(r) and s.b.reference.tape.is_leaf(r)]
    if leaves and s.b.can(Capability.OPTIMIZERS):
        s.b.actions.step(leaves[-3:] if s.b.below(3) == 2 else [s.one_of(leaves)], *plain_optimizer(s.b))


@action(1)
def set_requires_grad(s: Sequence) -> None:
    """Adds an instruction that toggles a leaf's `requires_grad`."""
    at = s.leaf()
    if at is not None and s.b.can(Capability.SWITCHES):
        s.b.actions.set_requires_grad(at, not s.b.requires(at))
