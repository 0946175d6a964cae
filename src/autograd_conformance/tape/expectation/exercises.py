"""The rules that a backward call puts to the test, computed from the state of the tape."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from autograd_conformance.ops.catalogue import WRITES
from autograd_conformance.ops.rows.row import Certainty
from autograd_conformance.programs import slugs
from autograd_conformance.programs.language import (
    Backward,
    BackwardCall,
    Grad,
    Hook,
    Modes,
    Ref,
    RemoveHook,
    Step,
    is_recorded,
)
from autograd_conformance.programs.slugs import Slug
from autograd_conformance.reference.computation.reverse import MOVE, GradientEdge
from autograd_conformance.reference.computation.value_types import InternalValue
from autograd_conformance.reference.staging.vjp import base_op, derivative_order
from autograd_conformance.tape.graph import Node, Traversal
from autograd_conformance.tape.recurrence import detaches_state, through_modules
from autograd_conformance.tape.state import TapeState
from autograd_conformance.tape.versions import version_mismatch, written_since


def exercised(tape: TapeState, call: BackwardCall, traversal: Traversal, modes: Modes) -> tuple[Slug, ...]:
    """Returns the rules that a backward call puts to the test if it may return."""
    rules = [slugs.ERRORS_LEGAL_RETURNS, *_form(tape, call, traversal), *_graph(tape, call, traversal)]
    made = {out for n in traversal.nodes for out in n.entry.outs}
    if any(cotangent is not None for cotangent in call.cotangents):
        rules.append(slugs.GRADIENTS_COTANGENT_KEPT)
    edge = tape.reference.tape.edge
    if any(edge(source) in made for source in tape.detached.values()):
        rules.append(slugs.DETACH_KEEPS_SOURCE)
    if tape.refused & (made | {edge(r) for r in call.roots}):
        rules.append(slugs.ERRORS_REFUSAL_KEEPS_GRAPH)
    if derived_op(traversal):
        rules.append(slugs.HIGHER_OP if order(traversal) == 2 else slugs.HIGHER_OP_THIRD)
    if any(node.derivative for node in traversal.nodes):
        rules.append(slugs.HIGHER_DIFFERENTIABLE)
    if modes and not is_recorded(modes):
        rules.append(slugs.MODES_BACKWARD_ANYWHERE)
    if tape.failed:
        rules.append(slugs.ERRORS_RECOVERS)
    if tape.actions > 1:
        rules.append(slugs.SEQUENCES_HISTORY)
    if isinstance(call, Backward) and traversal.leaves:
        rules += through_modules(traversal.nodes)
    if detaches_state(tape, traversal):
        rules.append(slugs.RECURRENT_DETACHED_STATE)
    if _stepped(tape, traversal):
        rules.append(slugs.TRAINING_LOOP)
    rules += [*_written(tape, traversal), *_hooked(tape, call, traversal), *_lifetime(tape, call, traversal)]
    return tuple(dict.fromkeys(rules))


def _stepped(tape: TapeState, traversal: Traversal) -> bool:
    """Whether a call goes through ops that were recorded on a leaf after an optimizer step had moved the leaf."""
    versions, storage, steps = tape.reference.storages.versions, tape.reference.storages.storage, tape.reference.steps
    if not tape.moved:
        return False
    moved = {leaf: at for leaf in traversal.leaves if isinstance(steps[at := versions.get(storage(leaf), 0)], Step)}
    return bool(moved) and any(
        node.at > moved.get(edge, node.at) for node in traversal.nodes for edge in node.entry.args
    )


WEIGHTS = "multiply"
"""The op that may weight the result of a tested op, so that the cotangent of the tested op is differentiable, too."""


def derived_op(traversal: Traversal) -> str | None:
    """Returns the op whose derivative a call goes through, if it is the only op apart from `WEIGHTS`; else None."""
    if not any(node.derivative for node in traversal.nodes):
        return None
    nodes = (node for node in traversal.all_nodes if not _joins(node))
    ops = dict.fromkeys(base_op(node.op) for node in nodes)
    found = [op for op in ops if op != WEIGHTS] or [WEIGHTS]
    return found[0] if len(found) == 1 else None


def _joins(node: Node) -> bool:
    """Whether a node is a sum that a call made of several contributions to one edge."""
    return node.op == "add" and isinstance(node.entry.outs[0], InternalValue)


def order(traversal: Traversal) -> int:
    """Returns the order of the derivative that a call computes: 1 for a gradient."""
    return 1 + max(derivative_order(node.op) for node in traversal.all_nodes)


def _form(tape: TapeState, call: BackwardCall, traversal: Traversal) -> list[Slug]:
    """Returns the rules that a call puts to the test by its kind and by its arguments."""
    rules: list[Slug] = []
    if isinstance(call, Grad):
        rules += [slugs.FUNCTIONAL_VALUE, slugs.FUNCTIONAL_NO_ACCUMULATION, slugs.GRADIENTS_FORM]
        edges = [tape.reference.tape.edge(r) for r in call.inputs]
        if len(set(call.inputs)) < len(call.inputs):
            rules.append(slugs.FUNCTIONAL_DUPLICATES)
        if any(s not in traversal.must_reach | traversal.may_fire for s in edges):
            rules.append(slugs.FUNCTIONAL_MATERIALIZED if call.materialize_grads else slugs.FUNCTIONAL_UNUSED_NONE)
        if any(s in tape.reference.tape.producer for s in edges):
            rules.append(slugs.FUNCTIONAL_INNER_INPUT)
        if not tape.imperative:
            rules += _linear(tape, call, traversal, [r for r in call.inputs if r in traversal.must_reach])
        return rules
    rules += _linear(tape, call, traversal, traversal.leaves)
    if traversal.leaves:
        held = [tape.grads.get(leaf) for leaf in traversal.leaves]
        rules += dict.fromkeys(
            slugs.ACCUMULATION_FIRST if tape.holds_initial_gradient(leaf) else slugs.ACCUMULATION_ADDS
            for leaf in traversal.leaves
        )
        if any(h is None for h in held):
            rules.append(slugs.ACCUMULATION_LAYOUT)
        if any(h is not None for h in held):
            rules.append(slugs.ACCUMULATION_REPLACES if call.create_graph else slugs.ACCUMULATION_IN_PLACE)
    if call.inputs is not None:
        rules.append(slugs.FUNCTIONAL_INPUTS_ONLY)
    if len(traversal.leaves) > 1:
        rules.append(slugs.ACCUMULATION_OWN_OBJECT)
    if any(ref in tape.reference.calls.retained for ref in traversal.must_accumulate):
        rules.append(slugs.HOOKS_RETAINED)
    requires = tape.reference.requires_grad
    if any(requires[leaf] and leaf not in traversal.leaves for leaf in tape.leaves):
        rules.append(slugs.ACCUMULATION_UNREACHED)
    if any(not requires[leaf] and leaf in traversal.must_reach for leaf in tape.leaves):
        rules.append(slugs.MODES_FROZEN_LEAF)
    return rules


def _linear(tape: TapeState, call: BackwardCall, traversal: Traversal, leaves: Collection[Ref]) -> list[Slug]:
    """Returns the rules that the gradients of some leaves put to the test, whether the call stores or returns these
    gradients.
    """
    rules = [slugs.GRADIENTS_OP if traversal.alone else slugs.GRADIENTS_GRAPH, slugs.GRADIENTS_FORM] if leaves else []
    if len(leaves) > 1:
        values = [tape.leaves[leaf].value for leaf in leaves if leaf in tape.leaves]
        if len({(v.shape, v.data) for v in values if v.data}) < sum(1 for v in values if v.data):
            rules.append(slugs.GRADIENTS_EQUAL_LEAVES)
    if len(call.roots) > 1:
        rules.append(slugs.GRADIENTS_SEVERAL_ROOTS)
    if any(ct is not None and any(x != 1 for x in ct.data) for ct in call.cotangents):
        rules.append(slugs.GRADIENTS_COTANGENT)
    return rules


def _graph(tape: TapeState, call: BackwardCall, traversal: Traversal) -> list[Slug]:
    """Returns the rules that a call puts to the test by the form of the graph that it goes through."""
    rules = [slugs.GRADIENTS_FAN_OUT] if any(n > 1 for n in traversal.uses.values()) else []
    for node in traversal.nodes:
        entry = node.entry
        if len(set(entry.args)) < len(entry.args):
            rules.append(slugs.GRADIENTS_SAME_ARGUMENT)
        if len(entry.outs) > 1:
            rules.append(slugs.GRADIENTS_SEVERAL_RESULTS)
        if all(entry.needs_input_grad):
            continue
        for edge, needs_input_grad in zip(entry.args, entry.needs_input_grad, strict=True):
            if not needs_input_grad and edge in tape.leaves:
                rules.append(slugs.ACCUMULATION_CONSTANT)
            elif not needs_input_grad and edge in tape.detached:
                rules.append(slugs.DETACH_BLOCKS)
            elif not needs_input_grad and edge in tape.unrecorded:
                rules.append(slugs.MODES_CONSTANT)
    return rules


def _written(tape: TapeState, traversal: Traversal) -> list[Slug]:
    rules = []
    nodes = traversal.all_nodes
    if any(node.op in WRITES for node in traversal.nodes):
        rules.append(slugs.WRITES_RECORDED)
    if any(node.op == MOVE for node in traversal.nodes):
        rules.append(slugs.VIEWS_HISTORY)
    if tape.reference.storages.versions:
        written = [node for node in nodes if written_since(tape, node)]
        if any(version_mismatch(tape, node) for node in written):
            rules.append(slugs.WRITES_ERROR_OR_RECORDED)
        elif written:
            rules.append(slugs.WRITES_UNSAVED_WORKS)
    return rules


def _hooked(tape: TapeState, call: BackwardCall, traversal: Traversal) -> list[Slug]:
    reference = tape.reference
    if not reference.hooks.on and not reference.hooks.accumulated:
        return []
    hooks = tape.hooks_on(traversal.must_fire)
    rules = [slugs.HOOKS_CALLED] if hooks else []
    if any(hook.effect in ("scale", "replace") for _, hook in hooks):
        rules.append(slugs.HOOKS_RESULT)
    if any(len(reference.hooks.on.get(edge, ())) > 1 for edge in traversal.must_fire):
        rules.append(slugs.HOOKS_ORDER)
    removed = [reference.steps[s.handle.at] for s in reference.steps if isinstance(s, RemoveHook)]
    if any(isinstance(s, Hook) and reference.tape.edge(s.target) in traversal.must_fire for s in removed):
        rules.append(slugs.HOOKS_REMOVED)
    if any(reference.hooks.accumulated.get(leaf) for leaf in traversal.leaves) and isinstance(call, Backward):
        rules.append(slugs.HOOKS_ACCUMULATED)
    return rules


def _lifetime(tape: TapeState, call: BackwardCall, traversal: Traversal) -> list[Slug]:
    rules = []
    if any(node.traversals and not node.freed and node.saves is Certainty.ALWAYS for node in traversal.nodes):
        rules.append(slugs.LIFETIME_RETAINED_WORKS)
    if any(node.freed for node in traversal.nodes):
        return [slugs.LIFETIME_NOTHING_SAVED, *rules]
    freed = [node for node in tape.nodes.values() if node.freed is Certainty.ALWAYS]
    if freed and traversal.nodes:
        edge, producer = tape.reference.tape.edge, tape.reference.tape.producer
        signatures = {_signature(tape, out) for n in freed for out in n.entry.outs[:1]}
        if any(_signature(tape, edge(root)) in signatures for root in call.roots if edge(root) in producer):
            rules.append(slugs.LIFETIME_REBUILT)
        elif _joined(tape, traversal, freed):
            rules.append(slugs.LIFETIME_TRAVERSED_ONLY)
        elif any(s in traversal.leaves for node in freed for s in node.args):
            rules.append(slugs.LIFETIME_INDEPENDENT)
    return rules


def _signature(tape: TapeState, edge: GradientEdge) -> int:
    """Returns a number that two edges share if the same ops computed them from the same leaves."""
    if edge not in tape.signatures:
        number = tape.reference.tape.producer.get(edge)
        key: object = edge
        if number is not None:
            entry = tape.reference.tape.entries[number]
            attrs = entry.attrs if entry.op != MOVE else number
            key = (entry.op, attrs, entry.outs.index(edge), *(_signature(tape, s) for s in entry.args))
        tape.signatures[edge] = tape.kinds.setdefault(key, len(tape.kinds))
    return tape.signatures[edge]


def _joined(tape: TapeState, traversal: Traversal, freed: Sequence[Node]) -> bool:
    """Whether a node depends both on a node that a call goes through and on a freed one, so that both are parts of one
    graph.
    """
    traversed = {out for n in traversal.nodes for out in n.entry.outs}
    of_freed = {out for n in freed for out in n.entry.outs}
    reach: dict[Ref, int] = {}
    for entry in tape.reference.tape.entries:
        mask = 0
        for s in entry.args:
            mask |= reach.get(s, 0)
        for out in entry.outs:
            reach[out] = mask | (1 if out in traversed else 0) | (2 if out in of_freed else 0)
            if reach[out] == 3:
                return True
    return False
