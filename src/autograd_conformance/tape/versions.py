"""Version checks: whether a tensor that a node saved, or that a region (one compiled or checkpointed function)
received, was written to since.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from autograd_conformance.ops.catalogue import WRITES
from autograd_conformance.ops.rows.row import Certainty
from autograd_conformance.programs.language import InPlace, Ref
from autograd_conformance.programs.operands import operands
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.computation.reverse import MOVE
from autograd_conformance.reference.saved_tensors import may_save
from autograd_conformance.reference.staging.vjp import Vjp
from autograd_conformance.tape.graph import Node
from autograd_conformance.tape.traversal import RecordedGraph


def version_mismatch(graph: RecordedGraph, node: Node) -> bool:
    """Whether a tensor that a node's derivative may need was written to after the node was recorded."""
    reference, storages = graph.reference, graph.reference.storages
    if not storages.versions:
        return False
    if region := graph.region(node):
        return (
            _inputs_written_since(graph, region)
            if _saves_inputs_only(graph, region)
            else _any_part_written_since(graph, region)
        )
    if node.saves is Certainty.NEVER:
        return False
    if _overwrites_own_operand(node):
        return True
    # a derivative may have saved any gradient that was computed together with it
    beside = reference.grads.made_by_call.get(node.at, ()) if node.derivative else ()
    if any(storages.versions.get(storages.storage(ref), -1) > node.at for ref in beside):
        return True
    # most nodes have no part that was written to: what they save matters for the others only
    return written_since(graph, node) and any(storages.versions.get(kept, -1) > node.at for kept in kept_storages(node))


def recomputes_changed_inputs(graph: RecordedGraph, node: Node) -> bool:
    """Whether a node belongs to a region (one compiled or checkpointed function) that backward recomputes from the
    current values of its inputs without checking these, and an input of the region was written to, or began or ceased
    to require grad, since.
    """
    reference, region = graph.reference, graph.region(node)
    if not (region and reference.traits.captures):
        return False
    return _inputs_written_since(graph, region) or not reference.flags.toggled.isdisjoint(_region_inputs(graph, region))


def _region_inputs(graph: RecordedGraph, region: tuple[int, ...]) -> set[Ref]:
    """Returns the values from outside that a region (one compiled or checkpointed function) uses."""
    return {ref for at in region for ref in operands(graph.reference.steps[at]) if ref.at not in region}


def _inputs_written_since(graph: RecordedGraph, region: tuple[int, ...]) -> bool:
    """Whether an input of a region (one compiled or checkpointed function) was written to after the region ran."""
    storages = graph.reference.storages
    return any(storages.versions.get(storages.storage(ref), -1) > region[-1] for ref in _region_inputs(graph, region))


def _saves_inputs_only(graph: RecordedGraph, region: tuple[int, ...]) -> bool:
    """Whether a region (one compiled or checkpointed function) saves nothing but its inputs: it is recomputed, contains
    no writes, and each op has a separate node.
    """
    traits, steps = graph.reference.traits, graph.reference.steps
    return traits.recomputes and not traits.one_node and not any(isinstance(steps[at], InPlace) for at in region)


def _any_part_written_since(graph: RecordedGraph, region: tuple[int, ...]) -> bool:
    """Whether any operand or result of the nodes of a region (one compiled or checkpointed function) was written to
    after the node was recorded.
    """
    return any(written_since(graph, part) for part in graph.region_nodes(region))


def written_since(graph: RecordedGraph, node: Node) -> bool:
    """Whether any operand or result of a node was written to after the node was recorded."""
    versions, entry, at = graph.reference.storages.versions, node.entry, node.entry.at
    for storage in (*entry.operand_storages, *entry.result_storages):
        if storage is not None and versions.get(storage, -1) > at:
            return True
    return False


def kept_storages(node: Node) -> Iterator[Ref]:
    """Yields the storages of the tensors that a node may have saved."""
    entry = node.entry
    numbers: Iterable[int] = range(len(entry.operand_storages))
    results = True
    if entry.op != MOVE and not isinstance(entry.op, Vjp):
        shapes = tuple([np.shape(x) for x in entry.operands])
        saved = may_save(entry.op, entry.attrs, shapes, entry.needs_input_grad)
        numbers, results = saved.operands, bool(saved.results)
    storages = [entry.operand_storages[k] for k in numbers] + (list(entry.result_storages) if results else [])
    yield from (storage for storage in storages if storage is not None)


def _overwrites_own_operand(node: Node) -> bool:
    """Whether a write overwrote an operand that its derivative may need, as ``y.mul_(y)`` does."""
    entry = node.entry
    if entry.op not in WRITES:
        return False
    return any(storage is not None and storage in entry.result_storages for storage in entry.operand_storages[1:])


def is_invalidated(graph: RecordedGraph, ref: Ref) -> bool:
    """Whether a value is a restricted view (made under no_grad, or by an op with several results) whose storage was
    written to since, so that using the view may raise.
    """
    storages = graph.reference.storages
    return ref in storages.restricted and storages.versions.get(storages.storage(ref), -1) > ref.at
