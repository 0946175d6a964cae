"""Walking the recorded graph: what a call goes through, what it reaches, and what of it was written to since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from autograd_conformance.ops.catalogue import ROWS, WRITES
from autograd_conformance.ops.row import Certainty
from autograd_conformance.programs.language import Backward, BackwardCall, Hook, Ref
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reference.reverse import MOVE, GradientEdge, TapeEntry
from autograd_conformance.reference.saved_tensors import may_save
from autograd_conformance.reference.staging.derivatives import VJP
from autograd_conformance.rules.tape.graph import Node, Traversal


class RecordedGraph:
    """The nodes of a reference's records, made when a call first comes by them."""

    def __init__(self, reference: Reference) -> None:
        self.reference = reference
        self.nodes: dict[int, Node] = {}

    def node(self, number: int) -> Node:
        """The node of a record."""
        if number not in self.nodes:
            record = self.reference.entries[number]
            self.nodes[number] = Node(record, self._saves(record), self._is_derivative(record))
        return self.nodes[number]

    def _is_derivative(self, record: TapeEntry) -> bool:
        return record.op.startswith(VJP)

    def _saves(self, record: TapeEntry) -> Certainty:
        if record.op == MOVE:
            return Certainty.NEVER
        if record.op not in ROWS:
            return Certainty.MAYBE
        saves = ROWS[record.op].saving(record.needs_input_grad)
        if saves is Certainty.ALWAYS and not any(self.reference.values[out].size for out in record.outs):
            return Certainty.MAYBE  # a derivative without elements needs nothing, whatever is kept
        return saves

    # -- walking ------------------------------------------------------------------------------------------------------

    def traverse(self, call: BackwardCall) -> Traversal:
        """Everything that a call goes through."""
        reference, producer = self.reference, self.reference.producer
        starts = [reference.edge(r) for r in call.roots if reference.requires_grad.get(r)]
        uses: dict[GradientEdge, int] = {}
        reached, maybe, ambiguous = set(starts), set[GradientEdge](), set[GradientEdge]()
        nodes: list[Node] = []
        perhaps: list[Node] = []
        visited: list[Node] = []
        pending = {producer[s] for s in starts if s in producer}
        certain = set(pending)
        while pending:
            number = max(pending)
            pending.discard(number)
            node = self.node(number)
            surely = number in certain
            (nodes if surely else perhaps).append(node)
            visited.append(node)
            for edge, needs_input_grad in zip(node.entry.args, node.entry.needs_input_grad, strict=True):
                if not needs_input_grad:
                    continue
                uses[edge] = uses.get(edge, 0) + 1
                (reached if surely and not node.derivative else maybe).add(edge)
                if edge in producer:
                    pending.add(producer[edge])
                    if surely and not node.derivative:
                        certain.add(producer[edge])
            for edge in node.entry.via:
                ambiguous.add(edge)
                if edge in producer:
                    pending.add(producer[edge])
        maybe = (maybe | ambiguous) - reached
        siblings = {out for node in (*nodes, *perhaps) for out in node.entry.outs} - reached
        if call.inputs is not None:
            ends = self._producers(call, nodes) + self._towards(call.inputs, visited, loosely=True)
            nodes = self._towards(self._surely(call, nodes, reached), nodes)
            perhaps += [node for node in ends if node not in nodes and node not in perhaps]
        return self._traversal(call, nodes, perhaps, uses, reached, maybe | siblings, ambiguous)

    def _partly(self, call: BackwardCall, nodes: list[Node]) -> tuple[Node, ...]:
        """Those of some nodes that are on the way to an input by some of their operands only."""
        if call.inputs is None:
            return ()
        ends = {self.reference.edge(r) for r in call.inputs}.union(*(node.entry.outs for node in nodes))
        return tuple(
            node
            for node in nodes
            if any(
                needs_input_grad and s not in ends
                for s, needs_input_grad in zip(node.entry.args, node.entry.needs_input_grad, strict=True)
            )
        )

    def _producers(self, call: BackwardCall, nodes: list[Node]) -> list[Node]:
        """The nodes that made the inputs of a backward call: it may go through them to leave the gradients there. What
        a write made of an input is a part of the write.
        """
        if not isinstance(call, Backward):
            return []
        targets = {self.reference.edge(r) for r in call.inputs or ()}
        made = [node for node in nodes if targets.intersection(node.entry.outs)]
        moved = {node.at for node in made if node.entry.op == MOVE}
        return [node for node in nodes if node in made or node.at in moved]

    def _surely(self, call: BackwardCall, nodes: list[Node], reached: set[GradientEdge]) -> Iterable[Ref]:
        """The inputs that a call surely comes to: not those that a derivative may have been computed without."""
        reference, inputs = self.reference, call.inputs or ()
        if not any(node.derivative for node in nodes):
            return inputs
        roots = zip(call.roots, call.cotangents, strict=True)
        if any(ct is not None and ct.shape != np.shape(reference.values[root]) for root, ct in roots):
            return inputs  # such a call is refused
        return [r for r in inputs if reference.edge(r) in reached or not reference.is_zero(call, r)]

    def _towards(self, inputs: Iterable[Ref], nodes: list[Node], loosely: bool = False) -> list[Node]:
        """Those of some nodes on the way to inputs; `loosely` also those on the way to what was made together with
        them, and those of which it depends on how a derivative was computed.
        """
        targets = {self.reference.edge(r) for r in inputs}
        if loosely:
            made = (self.reference.producer.get(edge) for edge in list(targets))
            targets.update(out for number in made if number is not None for out in self.node(number).entry.outs)
        kept = []
        for node in reversed(nodes):
            used = zip(node.entry.args, node.entry.needs_input_grad, strict=True)
            passed = [edge for edge, needs_input_grad in used if needs_input_grad] + (
                list(node.entry.via) if loosely else []
            )
            if targets.intersection(passed):
                kept.append(node)
                targets.update(node.entry.outs)
        return kept[::-1]

    def _traversal(
        self,
        call: BackwardCall,
        nodes: list[Node],
        perhaps: list[Node],
        uses: dict[GradientEdge, int],
        reached: set[GradientEdge],
        maybe: set[GradientEdge],
        ambiguous: set[GradientEdge],
    ) -> Traversal:
        reference, edge = self.reference, self.reference.edge
        ends = {s for s in reached | maybe if s not in reference.producer}
        leaves = frozenset(s for s in ends if reference.requires_grad.get(s) and edge(s) == s)
        executed = {out for node in nodes for out in node.entry.outs}
        if call.inputs is None:
            into, called = set(leaves), (executed | leaves) & reached
            leaves_here = leaves
        else:
            targets = {edge(r) for r in call.inputs}
            into = {r for r in call.inputs if edge(r) in reached | maybe} if isinstance(call, Backward) else set()
            called = (executed | targets) & reached
            leaves_here = frozenset(r for r in into if reference.is_leaf(r))
        unsure = set()
        for ref in (*reference.retained, *reference.captured_inputs):
            if edge(ref) in called and ref in reference.retained:
                into.add(ref)
            elif edge(ref) in called or edge(ref) in maybe or edge(ref) in reached:
                unsure.add(ref)
        into, unsure = reference.same_objects(into), reference.same_objects(unsure)
        return Traversal(
            tuple(nodes), leaves_here, uses, tuple(perhaps), frozenset(into), frozenset(unsure - into),
            frozenset(reached), frozenset(called - ambiguous), frozenset(reached | maybe) - called | ambiguous,
            frozenset(ambiguous), self._partly(call, nodes),
        )  # fmt: skip

    # -- what was written ---------------------------------------------------------------------------------------------

    def version_mismatch(self, node: Node) -> bool:
        """Whether something that a node's derivative may need was written to after it was recorded."""
        reference, storages = self.reference, self.reference.storages
        if not storages.versions or node.saves is Certainty.NEVER:
            return False
        kept = set(self.kept(node))
        if node.derivative:  # it may have kept any of the gradients that were computed together with it
            kept.update(storages.storage(ref) for ref in reference.made_by_call.get(node.at, ()))
        return any(storages.versions.get(storage, -1) > node.at for storage in kept) or self._hit_itself(node)

    def written_since(self, node: Node) -> bool:
        """Whether any operand or result of a node was written to after it was recorded."""
        written, record = self.reference.storages.versions, node.entry
        return any(
            storage is not None and written.get(storage, -1) > node.at
            for storage in (*record.operand_storages, *record.result_storages)
        )

    def kept(self, node: Node) -> Iterator[Ref]:
        """Whose memory a node may have kept something in."""
        record = node.entry
        operands: Iterable[int] = range(len(record.operand_storages))
        results = True
        if record.op in ROWS:
            shapes = tuple([np.shape(x) for x in record.operands])
            saved = may_save(record.op, record.attrs, shapes, record.needs_input_grad)
            operands, results = saved.operands, bool(saved.results)
        operand_storages = [record.operand_storages[k] for k in operands] + (
            list(record.result_storages) if results else []
        )
        yield from (storage for storage in operand_storages if storage is not None)

    def _hit_itself(self, node: Node) -> bool:
        """Whether a write changed an operand of its own that its derivative may need (``y.mul_(y)``)."""
        record = node.entry
        if record.op not in WRITES:
            return False
        return any(storage is not None and storage in record.result_storages for storage in record.operand_storages[1:])

    def invalidated(self, ref: Ref) -> bool:
        """Whether a view of a restricted kind may refuse to be used, because its memory was written to."""
        storages = self.reference.storages
        return ref in storages.restricted and storages.versions.get(storages.storage(ref), -1) > ref.at

    # -- hooks --------------------------------------------------------------------------------------------------------

    def hooks_on(self, edges: Iterable[GradientEdge]) -> list[tuple[Ref, Hook]]:
        """The hooks on some slots."""
        hooks = self.reference.hooks
        return [entry for edge in edges for entry in hooks.get(edge, ())] if hooks else []
