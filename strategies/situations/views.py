"""Programs drawn for the rules about views: values that share memory, and values that must not."""

from __future__ import annotations

from autograd_conformance.ops.rows.row import takes
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Ref
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.building.unsupported import Unsupported
from autograd_conformance.strategies.situations.base import action_situation, alias, computed, joined, unaliased, view


def _touch(b: Draft, target: Ref) -> None:
    """Adds an in-place write, under `no_grad` if the target is a leaf that requires grad or a view of one."""
    leaf = b.requires(target) and b.reference.tape.is_leaf(b.reference.storages.base(target))
    if leaf and not b.can(Capability.MODES):
        return
    with b.under(*(["no_grad"] if leaf else [])):
        b.writes.to(target, b.pick(("fill_", "add_scalar_", "zero_", "copy_")))


@action_situation
def views(b: Draft) -> None:
    """Draws views of leaves and of results, views of views, and detached values; an in-place write shows which of them
    share memory.
    """
    b.require(Capability.WRITES, Capability.VIEWS)
    source = b.leaf_of(((3,), (2, 3), (2, 2, 3))) if b.below(2) else computed(b)
    values = [source]
    for _ in range(1 + b.below(3)):
        values.append(alias(b, b.choices.recent(values)))
    if b.below(3) == 2:
        names = [n for n in b.available("broadcast_to", "unfold") if takes(b.alphabet.row(n), b.shape(source))]
        values += b.ops.draw(b.pick(names), on=source)[:1] if names else []
    _touch(b, source)
    b.actions.backward(b.choices.recent([r for r in values if b.requires(r) and b.reference.values[r].size]))


@action_situation
def copies(b: Draft) -> None:
    """Draws results that must not share memory with their operand, even if equal to it; an in-place write would show
    sharing.
    """
    b.require(Capability.WRITES)
    source = b.leaf_of(((3,), (2, 3), (2, 2))) if b.below(2) else computed(b)
    same = [
        n
        for n in ("clone", "repeat", "abs", "clip", "relu", "tril", "maximum", "flip", "concat", "take", "pad")
        if n in b.alphabet.ops
    ]
    made = [unaliased(b, source) for _ in range(1 + b.below(2))]
    if same:
        made += b.ops.draw(b.pick(same), on=source)[:1]
    _touch(b, source if b.below(2) or b.reference.tape.is_leaf(source) else b.pick(made))
    roots = [r for r in made if b.requires(r)]
    if roots:
        b.actions.backward(b.pick(roots))


@action_situation
def view_histories(b: Draft) -> None:
    """Draws a recorded in-place write to a view or to its base, and a backward call on values computed from the base
    and other views of it.
    """
    b.require(Capability.WRITES, Capability.VIEWS)
    base = computed(b, (3,), (2, 3), (2, 2), (2, 2, 3))
    others = [view(b, base) for _ in range(1 + b.below(2))]
    target = view(b, base)
    others += [view(b, target, 1)] if b.below(3) == 2 else []
    chosen = b.pick((target, target, base))
    if b.below(2):
        source = computed(b, b.shape(chosen), most=1)
        if not b.writes.to(chosen, b.pick(("copy_", "mul_", "add_")), source):
            b.writes.to(chosen)
    else:
        b.writes.to(chosen)
    if b.below(3) == 2:
        b.writes.to(b.pick((base, *others)))
    uses = [r for r in (base, target, *others) if b.requires(r)]
    uses = [uses[0] if chosen == target else uses[1], *([b.pick(uses)] if b.below(2) else [])]
    b.actions.backward(joined(b, [b.ops.successor(r) if b.below(2) else r for r in uses]))


@action_situation
def buffered_histories(b: Draft) -> None:
    """Draws a constant buffer whose rows are overwritten in place by values that require grad, and a backward call on
    the whole buffer or a value computed from it.
    """
    b.require(Capability.WRITES, Capability.VIEWS)
    buffer = b.leaf_of(((2, 3), (3, 2), (2, 2), (3,)), requires_grad=False)
    if "select" not in b.alphabet.ops:
        raise Unsupported("the framework has no select")
    for row in range(b.shape(buffer)[0]):
        if row == 0 or b.below(4) < 3:
            part = b.apply("select", (buffer,), (("dim", 0), ("index", row)))[0]
            b.writes.to(part, "copy_", computed(b, b.shape(part)))
    b.actions.backward(b.ops.successor(buffer) if b.below(2) else buffer)


@action_situation
def restricted_views(b: Draft) -> None:
    """Draws a view made under `no_grad`, or one of several views of one op, which is written to in place, perhaps after
    a write to its base.
    """
    b.require(Capability.WRITES, Capability.VIEWS)
    if b.can(Capability.MODES, Capability.CONSTANTS) and b.below(2):
        base = b.leaf_of(((2, 3), (3,), (2, 2)), requires_grad=False)
        with b.under("no_grad"):
            target = view(b, base)
    else:
        base = computed(b, (2, 3), (3,), (2, 2))
        target = b.pick(b.ops.draw(b.pick(b.available("split", "unstack", "chunk")), on=base))
        target = view(b, target, 1) if b.below(4) == 3 else target
    if b.below(2):
        b.writes.to(base, b.pick(("mul_", "add_", "copy_")), computed(b, b.shape(base), most=1))
        b.writes.to(target, "add_scalar_")
    else:
        b.writes.to(target, b.pick(("mul_", "add_", "copy_")), computed(b, b.shape(target), most=1))
    b.actions.backward(computed(b))
