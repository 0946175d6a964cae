"""Recurrence as the tape shows it: the same op on the same parameter, again, on what it made before.

A recurrent step is told from nothing else, so that it is one whether a framework's module took it or a few ops did.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from autograd_conformance.ops.modules import MODULES
from autograd_conformance.ops.modules.recurrent import RECURRENT
from autograd_conformance.programs.language import Ref
from autograd_conformance.reference.computation.reverse import GradientEdge
from autograd_conformance.reference.staging.vjp import RecordedOp, base_op
from autograd_conformance.tape.graph import Node, Traversal
from autograd_conformance.tape.state import TapeState

CELLS = frozenset(module.name for module in RECURRENT)

Used = tuple[RecordedOp, Ref]
"""An op, and a leaf that it was applied to."""


def through_modules(nodes: Iterable[Node]) -> list[str]:
    """The rules about the gradients of the modules that a call goes through."""
    found = {base_op(node.op) for node in nodes} & MODULES.keys()
    rules = ["recurrent/gradient"] if found & CELLS else []
    return [*rules, *(["networks/gradient"] if found - CELLS else [])]


def _uses(tape: TapeState, node: Node) -> set[Used]:
    """The op of a node with each of the leaves that it passes a gradient to."""
    return {
        (node.op, s)
        for s, needs_input_grad in zip(node.args, node.entry.needs_input_grad, strict=True)
        if needs_input_grad and s in tape.leaves
    }


def carries_state(tape: TapeState, traversal: Traversal, freed: Sequence[Node]) -> bool:
    """Whether a call leads from steps that no call went through yet into steps of the same kind that are freed."""
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
    """Whether a call ends at a detached value that steps of the same kind made, which another call went through."""
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
    """Detached values, and what was computed from nothing but constants and them: what each was detached from."""
    found = {edge: {source} for edge, source in tape.detached.items()}
    for entry in tape.reference.entries:
        if not any(entry.needs_input_grad):
            sources = set[Ref]().union(*(found.get(edge, ()) for edge in entry.args))
            found.update(dict.fromkeys(entry.outs, sources) if sources else {})
    return found


def _traversed_upstream(tape: TapeState, source: Ref) -> set[Used]:
    """What was used behind a value, in nodes that a call went through already."""
    producer = tape.reference.producer
    found: set[Used] = set()
    pending, visited = [tape.reference.edge(source)], set[int]()
    while pending:
        edge = pending.pop()
        edge = tape.reference.before_end.get(edge, edge)
        if edge in tape.detached:  # detached again
            pending.append(tape.reference.edge(tape.detached[edge]))
        number = producer.get(edge)
        if number is None or number in visited:
            continue
        visited.add(number)
        node = tape.nodes.get(number)
        if node is not None and node.traversals:
            found |= _uses(tape, node)
        pending += tape.reference.entries[number].args
    return found
