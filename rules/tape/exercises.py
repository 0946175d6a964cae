"""Which rules a call really puts to the test: the situation of each, told from the state of the tape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from autograd_conformance.ops.catalogue import WRITES
from autograd_conformance.ops.tables import Saves
from autograd_conformance.programs.language import Backward, Grad, Hook, Modes, Ref, RemoveHook, Step, Walking, records
from autograd_conformance.reference.reverse import MOVE, Slot
from autograd_conformance.reference.staging.derivatives import VJP
from autograd_conformance.reference.state import is_shadow
from autograd_conformance.rules.tape.graph import Freed, Node, Walk
from autograd_conformance.rules.tape.recurrence import detaches_state, through_modules

if TYPE_CHECKING:
    from autograd_conformance.rules.tape.model import Tape


def exercised(tape: Tape, call: Walking, walk: Walk, modes: Modes) -> tuple[str, ...]:
    """The rules that a call which may return exercises."""
    rules = ["errors/legal-returns", *_form(tape, call, walk), *_graph(tape, call, walk)]
    made = {out for n in walk.nodes for out in n.record.outs}
    slot = tape.reference.slot
    if any(slot(source) in made for source in tape.detached.values()):
        rules.append("detach/keeps-source")
    if tape.refused & (made | {slot(r) for r in call.roots}):
        rules.append("errors/refusal-keeps-graph")
    if derived_op(walk):
        rules.append("higher/op" if order(walk) == 2 else "higher/op-third")
    if any(node.derivative for node in walk.nodes):
        rules.append("higher/differentiable")
    if modes and not records(modes):
        rules.append("modes/backward-anywhere")
    if tape.failed:
        rules.append("errors/goes-on")
    if tape.actions > 1:
        rules.append("sequences/history")
    if isinstance(call, Backward) and walk.leaves:
        rules += through_modules(walk.nodes)
    if detaches_state(tape, walk):
        rules.append("recurrent/detached-state")
    if _stepped(tape, walk):
        rules.append("training/loop")
    rules += [*_written(tape, walk), *_hooked(tape, call, walk), *_lifetime(tape, call, walk)]
    return tuple(dict.fromkeys(rules))


def _stepped(tape: Tape, walk: Walk) -> bool:
    """Whether a call walks what was recorded of a leaf after a step had moved it."""
    written, owner, steps = tape.reference.memory.written, tape.reference.memory.owner, tape.reference.steps
    if not tape.moved:
        return False
    moved = {leaf: at for leaf in walk.leaves if isinstance(steps[at := written.get(owner(leaf), 0)], Step)}
    return bool(moved) and any(node.at > moved.get(slot, node.at) for node in walk.nodes for slot in node.record.args)


WEIGHTS = "multiply"
"""What may stand after an op, so that the op's cotangent is differentiable, too."""


def derived_op(walk: Walk) -> str | None:
    """The op whose derivative by itself, but for weights, a call goes through."""
    if not any(node.derivative for node in walk.nodes):
        return None
    nodes = (node for node in (*walk.nodes, *walk.perhaps) if not _joins(node))
    ops = dict.fromkeys(node.op.rpartition(" ")[2] for node in nodes)
    found = [op for op in ops if op != WEIGHTS] or [WEIGHTS]
    return found[0] if len(found) == 1 else None


def _joins(node: Node) -> bool:
    """Whether a node is the sum that a call made of what came to one place from several."""
    return node.op == "add" and is_shadow(node.record.outs[0])


def order(walk: Walk) -> int:
    """How many times an op is differentiated by a call that goes through derivatives of derivatives."""
    return 1 + max(node.op.count(VJP) for node in (*walk.nodes, *walk.perhaps))


def _form(tape: Tape, call: Walking, walk: Walk) -> list[str]:
    """What the call is asked for."""
    rules: list[str] = []
    if isinstance(call, Grad):
        rules += ["functional/value", "functional/no-accumulation"]
        slots = [tape.reference.slot(r) for r in call.inputs]
        if len(set(call.inputs)) < len(call.inputs):
            rules.append("functional/duplicates")
        if any(s not in walk.reached | walk.near for s in slots):
            rules.append("functional/materialized" if call.materialize_grads else "functional/unused-none")
        if any(s in tape.reference.producer for s in slots):
            rules.append("functional/inner-input")
        return rules
    if walk.leaves:
        rules += ["gradients/op" if walk.alone else "gradients/graph", "gradients/form"]
        held = [tape.held.get(leaf) for leaf in walk.leaves]
        rules += dict.fromkeys("accumulation/first" if h is None else "accumulation/adds" for h in held)
        if any(h is None for h in held):
            rules.append("accumulation/layout")
        if any(h is not None for h in held):
            rules.append("accumulation/replaces" if call.create_graph else "accumulation/in-place")
    if call.inputs is not None:
        rules.append("functional/inputs-only")
    if len(walk.leaves) > 1:
        rules.append("accumulation/own-object")
        values = [tape.leaves[leaf].value for leaf in walk.leaves if leaf in tape.leaves]
        if len({(v.shape, v.data) for v in values if v.data}) < sum(1 for v in values if v.data):
            rules.append("gradients/equal-leaves")
    if any(ref in tape.reference.retained for ref in walk.into):
        rules.append("hooks/retained")
    if len(call.roots) > 1:
        rules.append("gradients/several-roots")
    if any(ct is not None and any(x != 1 for x in ct.data) for ct in call.cotangents):
        rules.append("gradients/cotangent")
    requires = tape.reference.requires_grad
    if any(requires[leaf] and leaf not in walk.leaves for leaf in tape.leaves):
        rules.append("accumulation/unreached")
    if any(not requires[leaf] and leaf in walk.reached for leaf in tape.leaves):
        rules.append("modes/frozen-leaf")
    return rules


def _graph(tape: Tape, call: Walking, walk: Walk) -> list[str]:
    """What the graph looks like."""
    rules = ["gradients/fan-out"] if any(n > 1 for n in walk.uses.values()) else []
    for node in walk.nodes:
        record = node.record
        if len(set(record.args)) < len(record.args):
            rules.append("gradients/same-argument")
        if len(record.outs) > 1:
            rules.append("gradients/several-results")
        if all(record.flows):
            continue
        for slot, flows in zip(record.args, record.flows, strict=True):
            if not flows and slot in tape.leaves:
                rules.append("accumulation/constant")
            elif not flows and slot in tape.detached:
                rules.append("detach/blocks")
            elif not flows and slot in tape.unrecorded:
                rules.append("modes/constant")
    return rules


def _written(tape: Tape, walk: Walk) -> list[str]:
    rules = []
    nodes = (*walk.nodes, *walk.perhaps)
    if any(node.op in WRITES for node in walk.nodes):
        rules.append("writes/recorded")
    if any(node.op == MOVE for node in walk.nodes):
        rules.append("views/history")
    if tape.reference.memory.written:
        touched = [node for node in nodes if tape.touched(node)]
        if any(tape.stale(node) for node in touched):
            rules.append("writes/error-or-recorded")
        elif touched:
            rules.append("writes/unsaved-works")
    return rules


def _hooked(tape: Tape, call: Walking, walk: Walk) -> list[str]:
    reference = tape.reference
    if not reference.hooks and not reference.after:
        return []
    hooks = tape.hooks_on(walk.called)
    rules = ["hooks/called"] if hooks else []
    if any(hook.effect in ("scale", "replace") for _, hook in hooks):
        rules.append("hooks/result")
    if any(len(reference.hooks.get(slot, ())) > 1 for slot in walk.called):
        rules.append("hooks/order")
    removed = [reference.steps[s.handle.at] for s in reference.steps if isinstance(s, RemoveHook)]
    if any(isinstance(s, Hook) and reference.slot(s.target) in walk.called for s in removed):
        rules.append("hooks/removed")
    if any(reference.after.get(leaf) for leaf in walk.leaves) and isinstance(call, Backward):
        rules.append("hooks/accumulated")
    return rules


def _lifetime(tape: Tape, call: Walking, walk: Walk) -> list[str]:
    rules = []
    if any(node.walks and not node.freed and node.saves is Saves.SURELY for node in walk.nodes):
        rules.append("lifetime/retained-works")
    if any(node.freed for node in walk.nodes):
        return ["lifetime/nothing-saved", *rules]
    freed = [node for node in tape.nodes.values() if node.freed is Freed.SURELY]
    if freed and walk.nodes:
        slot, producer = tape.reference.slot, tape.reference.producer
        signatures = {_signature(tape, out) for n in freed for out in n.record.outs[:1]}
        if any(_signature(tape, slot(root)) in signatures for root in call.roots if slot(root) in producer):
            rules.append("lifetime/rebuilt")
        elif _joined(tape, walk, freed):
            rules.append("lifetime/walked-only")
        elif any(s in walk.leaves for node in freed for s in node.args):
            rules.append("lifetime/independent")
    return rules


def _signature(tape: Tape, slot: Slot) -> int:
    """A number that two slots share if they were computed by the same ops from the same leaves."""
    if slot not in tape.signatures:
        number = tape.reference.producer.get(slot)
        key: object = slot
        if number is not None:
            record = tape.reference.records[number]
            attrs = record.attrs if record.op != MOVE else number
            key = (record.op, attrs, record.outs.index(slot), *(_signature(tape, s) for s in record.args))
        tape.signatures[slot] = tape.kinds.setdefault(key, len(tape.kinds))
    return tape.signatures[slot]


def _joined(tape: Tape, walk: Walk, freed: Sequence[Node]) -> bool:
    """Whether some node depends both on what is walked and on what was freed: the two are parts of one graph."""
    walked = {out for n in walk.nodes for out in n.record.outs}
    gone = {out for n in freed for out in n.record.outs}
    reach: dict[Ref, int] = {}
    for record in tape.reference.records:
        mask = 0
        for s in record.args:
            mask |= reach.get(s, 0)
        for out in record.outs:
            reach[out] = mask | (1 if out in walked else 0) | (2 if out in gone else 0)
            if reach[out] == 3:
                return True
    return False
