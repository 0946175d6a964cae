"""Traversal of the recorded graph: the nodes that a call goes through, and the gradient edges that it reaches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field

from autograd_conformance.ops.catalogue import ROWS
from autograd_conformance.ops.rows.row import Certainty
from autograd_conformance.programs.language import Backward, BackwardCall, Hook, Ref
from autograd_conformance.programs.operands import operands
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.computation.reverse import MOVE, GradientEdge, TapeEntry
from autograd_conformance.reference.computation.value_types import InternalValue
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reference.staging.vjp import Vjp
from autograd_conformance.tape.graph import Node, Traversal

ZERO = 1e-12
"""A gradient whose elements are all smaller than this in size may be zero but for rounding."""


NO_REGIONS: Mapping[int, tuple[int, ...]] = {}
"""The value of `regions` for a program of which every instruction ran separately."""


@dataclass(slots=True)
class Ancestry:
    """The ancestors of a call's roots in the graph, whatever the call's inputs are."""

    nodes: list[Node] = field(default_factory=list)
    """The nodes that the roots depend on, newest first."""
    maybe_nodes: list[Node] = field(default_factory=list)
    """The nodes that the roots may depend on: only recorded derivatives, which may not depend on their operands, or a
    function that runs as one node lead to these nodes.
    """
    visited: list[Node] = field(default_factory=list)
    """The nodes of `nodes` and `maybe_nodes` together, newest first."""
    uses: dict[GradientEdge, int] = field(default_factory=dict)
    """For each edge, how many times it is an operand, one that gets a gradient, of the nodes in `visited`."""
    must_reach: set[GradientEdge] = field(default_factory=set)
    """The edges that certainly get a cotangent if the call goes through the whole graph of its roots."""
    may_reach: set[GradientEdge] = field(default_factory=set)
    """The edges that may get a cotangent: the operands of recorded derivatives and of the nodes in `maybe_nodes`."""
    via: set[GradientEdge] = field(default_factory=set)
    """The edges from which a recorded derivative may have been computed, instead of from its operands or in addition to
    them.
    """


class RecordedGraph:
    """The nodes of the tape of the suite's own reference computation, each created when it is first needed."""

    def __init__(self, reference: Reference, regions: Mapping[int, tuple[int, ...]] = NO_REGIONS) -> None:
        self.reference = reference
        """The suite's own computation of the program, which has the values and the recorded ops."""
        self.regions = regions
        """For each instruction that ran in a region (one compiled or checkpointed function), the numbers of all
        instructions of that region.
        """
        self.nodes: dict[int, Node] = {}
        """The nodes created so far, by the number of their tape entry."""
        self._dependent: dict[tuple[Node, frozenset[GradientEdge]], frozenset[GradientEdge]] = {}
        self._traversals: dict[tuple[Ref, ...], Traversal] = {}  # of calls without inputs, until the next instruction

    def node(self, number: int) -> Node:
        """Returns the node of a tape entry."""
        if number not in self.nodes:
            entry = self.reference.tape.entries[number]
            self.nodes[number] = Node(entry, self._saves(entry))
        return self.nodes[number]

    def _saves(self, entry: TapeEntry) -> Certainty:
        if entry.op == MOVE:
            return Certainty.NEVER
        if isinstance(entry.op, Vjp):
            return Certainty.MAYBE
        saves = ROWS[entry.op].saving(entry.needs_input_grad)
        if saves is Certainty.ALWAYS and not any(self.reference.values[out].size for out in entry.outs):
            return Certainty.MAYBE  # a derivative without elements needs nothing, whatever is kept
        return saves

    # -- regions -------------------------------------------------------------------------------------------------------

    def region(self, node: Node) -> tuple[int, ...]:
        """Returns the numbers of the instructions that run as one compiled or checkpointed function with a node's
        instruction; empty if the framework records and saves each op separately.
        """
        traits = self.reference.traits
        return self.regions.get(node.at, ()) if traits.one_node or traits.recomputes else ()

    def _entry_numbers(self, region: tuple[int, ...]) -> list[int]:
        """Returns the numbers of the tape entries that a region's instructions recorded, newest first."""
        entries = self.reference.tape.entries
        return [number for number in reversed(range(len(entries))) if entries[number].at in region]

    def region_nodes(self, region: tuple[int, ...]) -> list[Node]:
        """Returns the nodes of a region, which is given by the numbers of its instructions, newest first."""
        return [self.node(number) for number in self._entry_numbers(region)]

    # -- traversals ---------------------------------------------------------------------------------------------------

    def traverse(self, call: BackwardCall) -> Traversal:
        """Returns the part of the graph that a call goes through. For calls without `inputs` it is cached by roots,
        because a strategy has usually traversed the graph of a call before it draws the call.
        """
        if call.inputs is not None:
            return self._traversed(call)
        if call.roots not in self._traversals:
            self._traversals[call.roots] = self._traversed(call)
        return self._traversals[call.roots]

    def _traversed(self, call: BackwardCall) -> Traversal:
        found = self._ancestry(call)
        found.via.update(_shared(found))
        siblings = {out for node in found.visited for out in node.entry.outs}
        maybe = (found.may_reach | found.via | siblings) - found.must_reach
        if call.inputs is not None:
            ends = self._producers(call, found.nodes) + self._towards(call.inputs, found, loosely=True)
            found.nodes = self._towards(self._always_reached(call, found), found)
            self._move_unneeded_regions(call, found)
            known = {*map(id, found.nodes), *map(id, found.maybe_nodes)}
            for node in ends:
                if id(node) not in known:
                    found.maybe_nodes.append(node)
        return self._traversal(call, found, maybe)

    def _ancestry(self, call: BackwardCall) -> Ancestry:
        """Returns the ancestors of a call's roots."""
        reference, producer = self.reference, self.reference.tape.producer
        starts = [reference.tape.edge(r) for r in call.roots if reference.requires_grad.get(r)]
        found = Ancestry(must_reach=set(starts))
        pending = {producer[edge] for edge in starts if edge in producer}
        always, visited = set(pending), set[int]()
        while pending:
            number = max(pending)
            pending.discard(number)
            visited.add(number)
            entry = reference.tape.entries[number]
            passes_always = number in always and not isinstance(entry.op, Vjp)
            reached = found.must_reach if passes_always else found.may_reach
            for edge, needs_input_grad in zip(entry.args, entry.needs_input_grad, strict=True):
                if not needs_input_grad:
                    continue
                found.uses[edge] = found.uses.get(edge, 0) + 1
                reached.add(edge)
                if edge in producer:
                    pending.add(producer[edge])
                    if passes_always:
                        always.add(producer[edge])
            for edge in entry.via:
                found.via.add(edge)
                if edge in producer:
                    pending.add(producer[edge])
            pending -= visited  # entries of the same region may be newer than the visited ones
            if not pending and reference.traits.one_node:
                pending = self._region_entries(found, visited) - visited
        for number in sorted(visited, reverse=True):
            node = self.node(number)
            (found.nodes if number in always else found.maybe_nodes).append(node)
            found.visited.append(node)
        return found

    def _move_unneeded_regions(self, call: BackwardCall, found: Ancestry) -> None:
        """Moves nodes to `maybe_nodes` if they are in a region that is one node and that makes an input of the call: no
        gradient flows inside such a node, so the call may end before it.
        """
        if not self.reference.traits.one_node:
            return
        inputs = {self.reference.tape.edge(r) for r in call.inputs or ()}
        regions = {self.region(node) for node in found.visited if inputs.intersection(node.entry.outs)} - {()}
        found.maybe_nodes += [node for node in found.nodes if self.region(node) in regions]
        found.nodes = [node for node in found.nodes if self.region(node) not in regions]

    def _region_entries(self, found: Ancestry, visited: set[int]) -> set[int]:
        """Returns the tape entries that a call reaches only because they share one node with entries that it visited.
        Gradients that flow inside such a node, from one of its results to another, cannot be observed.
        """
        regions = {region for number in visited if (region := self.region(self.node(number)))}
        beside = set[int]()
        for region in regions:
            region_nodes = self.region_nodes(region)
            made = {edge for node in region_nodes for edge in node.entry.outs}
            found.via.update(made.intersection(edge for node in region_nodes for edge in node.args))
            found.may_reach.update(self._inputs(region))
            beside.update(self._entry_numbers(region))
        beside.update(n for edge in found.may_reach if (n := self.reference.tape.producer.get(edge)) is not None)
        return beside

    def _inputs(self, region: tuple[int, ...]) -> Iterator[GradientEdge]:
        """Yields the gradient edges of the values from outside that a region (one compiled or checkpointed function)
        uses.
        """
        reference = self.reference
        for ref in (ref for at in region for ref in operands(reference.steps[at])):
            if ref.at not in region and reference.requires_grad.get(ref):
                yield reference.tape.edge(ref)

    def _partial(self, call: BackwardCall, nodes: list[Node]) -> tuple[Node, ...]:
        """Returns the nodes of which only some operands lead to an input of the call."""
        if call.inputs is None:
            return ()
        ends = {self.reference.tape.edge(r) for r in call.inputs}.union(*(node.entry.outs for node in nodes))
        return tuple(
            node
            for node in nodes
            if any(
                needs_input_grad and edge not in ends
                for edge, needs_input_grad in zip(node.entry.args, node.entry.needs_input_grad, strict=True)
            )
        )

    def _producers(self, call: BackwardCall, nodes: list[Node]) -> list[Node]:
        """Returns the nodes that produced the inputs of an imperative backward call: the call may go through them to
        store gradients there. If a write produced an input, all nodes of the write are included.
        """
        if not isinstance(call, Backward):
            return []
        targets = {self.reference.tape.edge(r) for r in call.inputs or ()}
        made = [node for node in nodes if targets.intersection(node.entry.outs)]
        moved = {node.at for node in made if node.entry.op == MOVE}
        return [node for node in nodes if node in made or node.at in moved]

    def _always_reached(self, call: BackwardCall, found: Ancestry) -> Iterable[Ref]:
        """Returns the inputs that a call certainly reaches. Excluded are views to which a write may have given a new
        history, and inputs without which a derivative may have been computed.
        """
        reference = self.reference
        inputs = [r for r in call.inputs or () if reference.tape.edge(r) not in reference.views.rebased]
        if not any(node.derivative for node in found.nodes):
            return inputs
        roots = zip(call.roots, call.cotangents, strict=True)
        if any(ct is not None and ct.shape != np.shape(reference.values[root]) for root, ct in roots):
            return inputs  # such a call is refused
        edge, is_zero = reference.tape.edge, reference.pullbacks.is_zero
        return [r for r in inputs if edge(r) in found.must_reach or not is_zero(call, r)]

    def _towards(self, inputs: Iterable[Ref], found: Ancestry, loosely: bool = False) -> list[Node]:
        """Returns the nodes on a path to the inputs. With `loosely`, also the nodes on a path to values that were
        produced together with an input, and nodes that are on such a path or not, depending on how a derivative was
        computed.
        """
        ends = {self.reference.tape.edge(r) for r in inputs}
        targets = set(ends)
        if loosely:
            made = (self.reference.tape.producer.get(edge) for edge in list(targets))
            targets.update(out for number in made if number is not None for out in self.node(number).entry.outs)
        kept = []
        for node in reversed(found.visited if loosely else found.nodes):
            used = zip(node.entry.args, node.entry.needs_input_grad, strict=True)
            passes = not targets.isdisjoint(edge for edge, needs_input_grad in used if needs_input_grad)
            if passes and node.derivative and not loosely:
                reached = found.must_reach.intersection(node.entry.outs)
                passes = not ends.isdisjoint(self._dependencies(node, reached))
            if passes or (loosely and targets.intersection(node.entry.via)):
                kept.append(node)
                targets.update(node.entry.outs)
        return kept[::-1]

    def _dependencies(self, node: Node, outs: Set[GradientEdge]) -> Set[GradientEdge]:
        """Returns the edges that some results of a recorded derivative depend on: the derivative of a product by its
        first factor depends on the second factor only.
        """
        key = node, frozenset(outs)
        if key not in self._dependent:
            self._dependent[key] = self.reference.pullbacks.dependencies(outs)
        return self._dependent[key]

    def _traversal(self, call: BackwardCall, found: Ancestry, maybe: set[GradientEdge]) -> Traversal:
        """Returns the traversal of a call, from the ancestors of its roots; `maybe` are edges that it may reach."""
        reference, edge, reached = self.reference, self.reference.tape.edge, found.must_reach
        executed = {out for node in found.nodes for out in node.entry.outs}
        if call.inputs is None:
            ends = {reference.flags.new_leaves.get(e, e) for e in reached | maybe if e not in reference.tape.producer}
            leaves = frozenset(
                e
                for e in ends
                if reference.requires_grad.get(e)
                and (edge(e) == e or reference.flags.new_leaves.get(edge(e)) == e)
                and not isinstance(e, InternalValue)
            )
            must_add, fired = set(leaves), (executed | leaves) & reached
        else:
            fired = (executed | {edge(r) for r in call.inputs}) & reached
            adds = isinstance(call, Backward)
            must_add = {r for r in call.inputs if edge(r) in reached | maybe} if adds else set()
            leaves = frozenset(r for r in must_add if reference.tape.is_leaf(r))
        may_add = set()
        for ref in (*reference.calls.retained, *reference.calls.captured_inputs):
            if edge(ref) in fired and ref in reference.calls.retained:
                must_add.add(ref)
            elif edge(ref) in fired or edge(ref) in maybe or edge(ref) in reached:
                may_add.add(ref)
        must_add, may_add = reference.tape.same_objects(must_add), reference.tape.same_objects(may_add)
        return Traversal(
            nodes=tuple(found.nodes),
            leaves=leaves,
            uses=found.uses,
            maybe_nodes=tuple(found.maybe_nodes),
            must_accumulate=frozenset(must_add),
            may_accumulate=frozenset(may_add - must_add),
            must_reach=frozenset(reached),
            must_fire=frozenset(fired - found.via),
            may_fire=frozenset(reached | maybe) - fired | found.via,
            may_reach=frozenset(found.via),
            partial_nodes=self._partial(call, found.nodes),
        )

    # -- hooks --------------------------------------------------------------------------------------------------------

    def hooks_on(self, edges: Iterable[GradientEdge]) -> list[tuple[Ref, Hook]]:
        """Returns the hooks on the given edges, with their handles."""
        hooks = self.reference.hooks.on
        return [entry for edge in edges for entry in hooks.get(edge, ())] if hooks else []

    def may_skip(self, call: BackwardCall, hooks: list[tuple[Ref, Hook]]) -> set[Ref]:
        """Returns the handles of the hooks that a call may skip, because their gradient is zero and may
        stay undefined.
        """
        if not hooks:
            return set()
        given = dict(self.reference.pullbacks.hook_calls(call))
        return {handle for handle, _ in hooks if handle not in given or np.abs(given[handle]).max(initial=0) < ZERO}


def _shared(found: Ancestry) -> Iterator[GradientEdge]:
    """Yields the results of a derivative from which its other results, if the call reaches them, may have been
    computed. Example: in a triangular solve, the gradient of the matrix is computed from that of the right-hand side.
    """
    reached = found.must_reach | found.may_reach
    for node in found.visited:
        if node.derivative:
            for out in node.entry.outs:
                if not reached.isdisjoint(set(node.entry.outs) - {out}):
                    yield out
