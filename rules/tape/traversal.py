"""Walking the recorded graph: what a call goes through, what it reaches, and what of it was written to since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from autograd_conformance.ops.catalogue import ROWS, WRITES
from autograd_conformance.ops.tables import Saves
from autograd_conformance.programs.language import Backward, Hook, Ref, Walking
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reference.reverse import MOVE, Record, Slot
from autograd_conformance.reference.saved_tensors import may_save
from autograd_conformance.reference.staging.derivatives import VJP
from autograd_conformance.rules.tape.graph import Node, Walk


class Walker:
    """The nodes of a reference's records, made when a call first comes by them."""

    def __init__(self, reference: Reference) -> None:
        self.reference = reference
        self.nodes: dict[int, Node] = {}

    def node(self, number: int) -> Node:
        """The node of a record."""
        if number not in self.nodes:
            record = self.reference.records[number]
            self.nodes[number] = Node(record, self._saves(record), self._is_derivative(record))
        return self.nodes[number]

    def _is_derivative(self, record: Record) -> bool:
        return record.op.startswith(VJP)

    def _saves(self, record: Record) -> Saves:
        if record.op == MOVE:
            return Saves.NEVER
        if record.op not in ROWS:
            return Saves.PERHAPS
        saves = ROWS[record.op].saving(record.flows)
        if saves is Saves.SURELY and not any(self.reference.values[out].size for out in record.outs):
            return Saves.PERHAPS  # a derivative without elements needs nothing, whatever is kept
        return saves

    # -- walking ------------------------------------------------------------------------------------------------------

    def walk(self, call: Walking) -> Walk:
        """Everything that a call goes through."""
        reference, producer = self.reference, self.reference.producer
        starts = [reference.slot(r) for r in call.roots if reference.requires_grad.get(r)]
        uses: dict[Slot, int] = {}
        reached, maybe, ambiguous = set(starts), set[Slot](), set[Slot]()
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
            for slot, flows in zip(node.record.args, node.record.flows, strict=True):
                if not flows:
                    continue
                uses[slot] = uses.get(slot, 0) + 1
                (reached if surely and not node.derivative else maybe).add(slot)
                if slot in producer:
                    pending.add(producer[slot])
                    if surely and not node.derivative:
                        certain.add(producer[slot])
            for slot in node.record.via:
                ambiguous.add(slot)
                if slot in producer:
                    pending.add(producer[slot])
        maybe = (maybe | ambiguous) - reached
        siblings = {out for node in (*nodes, *perhaps) for out in node.record.outs} - reached
        if call.inputs is not None:
            ends = self._producers(call, nodes) + self._towards(call.inputs, visited, loosely=True)
            nodes = self._towards(self._surely(call, nodes, reached), nodes)
            perhaps += [node for node in ends if node not in nodes and node not in perhaps]
        return self._walk(call, nodes, perhaps, uses, reached, maybe | siblings, ambiguous)

    def _partly(self, call: Walking, nodes: list[Node]) -> tuple[Node, ...]:
        """Those of some nodes that are on the way to an input by some of their operands only."""
        if call.inputs is None:
            return ()
        ends = {self.reference.slot(r) for r in call.inputs}.union(*(node.record.outs for node in nodes))
        return tuple(
            node
            for node in nodes
            if any(flows and s not in ends for s, flows in zip(node.record.args, node.record.flows, strict=True))
        )

    def _producers(self, call: Walking, nodes: list[Node]) -> list[Node]:
        """The nodes that made the inputs of a backward call: it may go through them to leave the gradients there. What
        a write made of an input is a part of the write.
        """
        if not isinstance(call, Backward):
            return []
        targets = {self.reference.slot(r) for r in call.inputs or ()}
        made = [node for node in nodes if targets.intersection(node.record.outs)]
        moved = {node.at for node in made if node.record.op == MOVE}
        return [node for node in nodes if node in made or node.at in moved]

    def _surely(self, call: Walking, nodes: list[Node], reached: set[Slot]) -> Iterable[Ref]:
        """The inputs that a call surely comes to: not those that a derivative may have been computed without."""
        reference, inputs = self.reference, call.inputs or ()
        if not any(node.derivative for node in nodes):
            return inputs
        roots = zip(call.roots, call.cotangents, strict=True)
        if any(ct is not None and ct.shape != np.shape(reference.values[root]) for root, ct in roots):
            return inputs  # such a call is refused
        return [r for r in inputs if reference.slot(r) in reached or not reference.is_zero(call, r)]

    def _towards(self, inputs: Iterable[Ref], nodes: list[Node], loosely: bool = False) -> list[Node]:
        """Those of some nodes on the way to inputs; `loosely` also those on the way to what was made together with
        them, and those of which it depends on how a derivative was computed.
        """
        targets = {self.reference.slot(r) for r in inputs}
        if loosely:
            made = (self.reference.producer.get(slot) for slot in list(targets))
            targets.update(out for number in made if number is not None for out in self.node(number).record.outs)
        kept = []
        for node in reversed(nodes):
            used = zip(node.record.args, node.record.flows, strict=True)
            passed = [slot for slot, flows in used if flows] + (list(node.record.via) if loosely else [])
            if targets.intersection(passed):
                kept.append(node)
                targets.update(node.record.outs)
        return kept[::-1]

    def _walk(
        self,
        call: Walking,
        nodes: list[Node],
        perhaps: list[Node],
        uses: dict[Slot, int],
        reached: set[Slot],
        maybe: set[Slot],
        ambiguous: set[Slot],
    ) -> Walk:
        reference, slot = self.reference, self.reference.slot
        ends = {s for s in reached | maybe if s not in reference.producer}
        leaves = frozenset(s for s in ends if reference.requires_grad.get(s) and slot(s) == s)
        executed = {out for node in nodes for out in node.record.outs}
        if call.inputs is None:
            into, called = set(leaves), (executed | leaves) & reached
            leaves_here = leaves
        else:
            targets = {slot(r) for r in call.inputs}
            into = {r for r in call.inputs if slot(r) in reached | maybe} if isinstance(call, Backward) else set()
            called = (executed | targets) & reached
            leaves_here = frozenset(r for r in into if reference.is_leaf(r))
        unsure = set()
        for ref in (*reference.retained, *reference.asked):
            if slot(ref) in called and ref in reference.retained:
                into.add(ref)
            elif slot(ref) in called or slot(ref) in maybe or slot(ref) in reached:
                unsure.add(ref)
        into, unsure = reference.one_with(into), reference.one_with(unsure)
        return Walk(
            tuple(nodes), leaves_here, uses, tuple(perhaps), frozenset(into), frozenset(unsure - into),
            frozenset(reached), frozenset(called - ambiguous), frozenset(reached | maybe) - called | ambiguous,
            frozenset(ambiguous), self._partly(call, nodes),
        )  # fmt: skip

    # -- what was written ---------------------------------------------------------------------------------------------

    def stale(self, node: Node) -> bool:
        """Whether something that a node's derivative may need was written to after it was recorded."""
        reference, memory = self.reference, self.reference.memory
        if not memory.written or node.saves is Saves.NEVER:
            return False
        kept = set(self.kept(node))
        if node.derivative:  # it may have kept any of the gradients that were computed together with it
            kept.update(memory.owner(ref) for ref in reference.born.get(node.at, ()))
        return any(memory.written.get(cell, -1) > node.at for cell in kept) or self._hit_itself(node)

    def touched(self, node: Node) -> bool:
        """Whether any operand or result of a node was written to after it was recorded."""
        written, record = self.reference.memory.written, node.record
        return any(cell is not None and written.get(cell, -1) > node.at for cell in (*record.cells, *record.made))

    def kept(self, node: Node) -> Iterator[Ref]:
        """Whose memory a node may have kept something in."""
        record = node.record
        operands: Iterable[int] = range(len(record.cells))
        results = True
        if record.op in ROWS:
            shapes = tuple([np.shape(x) for x in record.operands])
            saved = may_save(record.op, record.attrs, shapes, record.flows)
            operands, results = saved.operands, bool(saved.results)
        cells = [record.cells[k] for k in operands] + (list(record.made) if results else [])
        yield from (cell for cell in cells if cell is not None)

    def _hit_itself(self, node: Node) -> bool:
        """Whether a write changed an operand of its own that its derivative may need (``y.mul_(y)``)."""
        record = node.record
        if record.op not in WRITES:
            return False
        return any(cell is not None and cell in record.made for cell in record.cells[1:])

    def poisoned(self, ref: Ref) -> bool:
        """Whether a view of a restricted kind may refuse to be used, because its memory was written to."""
        memory = self.reference.memory
        return ref in memory.restricted and memory.written.get(memory.owner(ref), -1) > ref.at

    # -- hooks --------------------------------------------------------------------------------------------------------

    def hooks_on(self, slots: Iterable[Slot]) -> list[tuple[Ref, Hook]]:
        """The hooks on some slots."""
        hooks = self.reference.hooks
        return [entry for slot in slots for entry in hooks.get(slot, ())] if hooks else []
