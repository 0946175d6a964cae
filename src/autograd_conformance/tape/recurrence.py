"""Recurrent steps on the tape: the same op applied to the same parameter again, and to a value that it computed before.

Nothing else identifies a recurrent step. A step therefore counts whether a framework's module or a few ops computed it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from autograd_conformance.ops.modules import MODULES
from autograd_conformance.ops.modules.recurrent import RECURRENT
from autograd_conformance.programs import slugs
from autograd_conformance.programs.language import Ref
from autograd_conformance.programs.slugs import Slug
from autograd_conformance.reference.computation.reverse import GradientEdge
from autograd_conformance.reference.staging.vjp import RecordedOp, base_op
from autograd_conformance.tape.graph import Node, Traversal
from autograd_conformance.tape.state import TapeState

CELLS = frozenset(module.name for module in RECURRENT)

Used = tuple[RecordedOp, Ref]
"""An op, and a leaf that it was applied to."""


def through_modules(nodes: Iterable[Node]) -> list[Slug]:
    """Returns the rules about the gradients of modules, such as layers and recurrent cells, that apply to a call
    through these nodes.
    """
    found = {base_op(node.op) for node in nodes} & MODULES.keys()
    rules = [slugs.RECURRENT_GRADIENT] if found & CELLS else []
    return [*rules, *([slugs.NETWORKS_GRADIENT] if found - CELLS else [])]


def _uses(tape: TapeState, node: Node) -> set[Used]:
    """Returns the op of a node, paired with each leaf to which the node passes a gradient."""
    return {
        (node.op, s)
        for s, needs_input_grad in zip(node.args, node.entry.needs_input_grad, strict=True)
        if needs_input_grad and s in tape.leaves
    }


def carries_state(tape: TapeState, traversal: Traversal, freed: Sequence[Node]) -> bool:
    """Whether a call goes from a recurrent step that no call has traversed back into freed steps of the same op and
    parameter, as if a training loop did not detach its state.
    """
    made: dict[GradientEdge, set[Used]] = {}
    freed_ids = set(map(id, freed))
    for node in reversed(traversal.nodes):
        before = set[Used]().union(*(made.get(edge, ()) for edge in node.args))
        uses = _uses(tape, node)
        if not node.traversals and uses & before:
            return True
        before |= uses if id(node) in freed_ids else set()
        made.update(dict.fromkeys(node.entry.outs, before))
    return False


def detaches_state(tape: TapeState, traversal: Traversal) -> bool:
    """Whether a call ends at a detached value that was computed by steps of the same op and parameter, which another
    call traversed, as if a training loop detaches its state.
    """
    if not tape.detached:
        return False
    made: dict[GradientEdge, set[Used]] = {}
    ends = _detached(tape)
    for node in reversed(traversal.nodes):
        before = set[Used]()
        for edge in node.args:
            before |= made.get(edge, set())
            for source in ends.get(edge, ()) if edge not in made else ():
                before |= _traversed_upstream(tape, source)
        if before & _uses(tape, node):
            return True
        made.update(dict.fromkeys(node.entry.outs, before))
    return False


def _detached(tape: TapeState) -> dict[GradientEdge, set[Ref]]:
    """Returns, for each detached value, and each value computed from constants and such values alone, the sources it
    was detached from.
    """
    found = {edge: {source} for edge, source in tape.detached.items()}
    for entry in tape.reference.tape.entries:
        if not any(entry.needs_input_grad):
            sources = set[Ref]().union(*(found.get(edge, ()) for edge in entry.args))
            found.update(dict.fromkeys(entry.outs, sources) if sources else {})
    return found


def _traversed_upstream(tape: TapeState, source: Ref) -> set[Used]:
    """Returns each op and its leaf (`Used`) upstream of a value, detaches included, in nodes that a call has already
    traversed.
    """
    producer = tape.reference.tape.producer
    found: set[Used] = set()
    pending, visited = [tape.reference.tape.edge(source)], set[int]()
    while pending:
        edge = pending.pop()
        edge = tape.reference.tape.before_end.get(edge, edge)
        if edge in tape.detached:  # detached again
            pending.append(tape.reference.tape.edge(tape.detached[edge]))
        number = producer.get(edge)
        if number is None or number in visited:
            continue
        visited.add(number)
        node = tape.nodes.get(number)
        if node is not None and node.traversals:
            found |= _uses(tape, node)
        pending += tape.reference.tape.entries[number].args
    return found
