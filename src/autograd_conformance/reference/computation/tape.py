"""The reference's tape: the recorded ops, and the value, `requires_grad` and gradient edge of everything on it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from autograd_conformance.programs.language import BackwardCall, Ref
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.computation.reverse import GradientEdge, TapeEntry, evaluate
from autograd_conformance.reference.computation.value_types import FIRST_INTERNAL, InternalValue
from autograd_conformance.reference.staging.derivatives import Array, array
from autograd_conformance.reference.staging.vjp import RecordedOp


@dataclass(slots=True, eq=False)
class ReferenceTape:
    """Stores the recorded ops, oldest first, and for each edge its value, its `requires_grad` and the entry that made
    it.
    """

    values: dict[Ref, Array] = field(default_factory=dict)
    """The current float64 elements of each value of the program, gradient tensor and internal value."""
    requires_grad: dict[Ref, bool] = field(default_factory=dict)
    """The current `requires_grad` of each value."""
    same_object: dict[Ref, Ref] = field(default_factory=dict)
    """For each value that is the same object as an earlier value, that earlier value. It is a gradient that was read,
    or the result for an input that was listed twice."""
    edges: dict[Ref, GradientEdge] = field(default_factory=dict)
    """The gradient edges of values whose edge is not the value itself, because a recorded write or a backward call
    changed the edge."""
    entries: list[TapeEntry] = field(default_factory=list)
    """The recorded ops, oldest first, including those through which no gradient flows."""
    producer: dict[GradientEdge, int] = field(default_factory=dict)
    """For each edge with a history, the index in `entries` of the tape entry that made it."""
    ended: dict[GradientEdge, int] = field(default_factory=dict)
    """The edges reached by backward calls of a framework in which a call ends the graph, so that the values become
    leaves; each with the instruction number of the last such call."""
    before_end: dict[GradientEdge, GradientEdge] = field(default_factory=dict)
    """For each edge that a value got when a call ended its graph, the edge that the value had before."""
    _internal_counts: dict[int, int] = field(default_factory=dict)

    # -- edges --------------------------------------------------------------------------------------------------------

    def edge(self, ref: Ref) -> GradientEdge:
        """Returns the edge to which a value's gradient currently flows."""
        ref = self.same_object.get(ref, ref)
        return self.edges.get(ref, ref)

    def same_objects(self, refs: Iterable[Ref]) -> set[Ref]:
        """Returns the given values, and all values that are the same object as one of them."""
        found = set(refs)
        if not found or not self.same_object:
            return found
        objects = {self.same_object.get(r, r) for r in found}
        return found | objects | {r for r, other in self.same_object.items() if other in objects}

    def is_leaf(self, ref: Ref) -> bool:
        """Whether a value is a leaf: it does not require grad, or it has no history."""
        return not self.requires_grad[ref] or self.edge(ref) not in self.producer

    def roots(self, call: BackwardCall) -> list[tuple[GradientEdge, Array]]:
        """Returns the edges of those roots of a call that require grad, each with its cotangent."""
        return [
            (self.edge(root), np.ones_like(self.values[root]) if given is None else array(given))
            for root, given in zip(call.roots, call.cotangents, strict=True)
            if self.requires_grad[root]
        ]

    def constant(self, at: int, value: Array) -> InternalValue:
        """Makes an internal value of instruction `at`, without a history, and returns its edge."""
        number = self._internal_counts.get(at, FIRST_INTERNAL)
        self._internal_counts[at] = number + 1
        edge = InternalValue(at, number)
        self.values[edge], self.requires_grad[edge] = value, False
        return edge

    def end(self, at: int, edges: set[GradientEdge]) -> None:
        """Ends the graph of the edges that the backward call `at` reached: their values become leaves that require
        grad.
        """
        self.ended.update(dict.fromkeys(edges, at))
        made = edges.intersection(self.producer)
        for ref in [r for r in self.requires_grad if not isinstance(r, InternalValue) and self.edge(r) in made]:
            leaf = self.constant(at, self.values[ref])
            self.requires_grad[leaf], self.before_end[leaf] = True, self.edge(ref)
            self.edges[ref] = leaf

    # -- recording ----------------------------------------------------------------------------------------------------

    def append(self, entry: TapeEntry) -> None:
        """Adds an entry to the tape; the results of the op have values already."""
        if any(entry.needs_input_grad):
            for edge in entry.outs:
                self.producer[edge] = len(self.entries)
        self.entries.append(entry)

    def apply(self, at: int, op: str, attrs: Any, args: tuple[GradientEdge, ...]) -> tuple[InternalValue, ...]:
        """Compute an op on edges, record it for instruction `at`, and return its results as internal values."""
        operands = tuple([self.values[r] for r in args])
        made = evaluate(op, attrs, operands)
        return self.record(at, made, op, attrs, args, operands, tuple([self.requires_grad[r] for r in args]))

    def record(
        self,
        at: int,
        made: tuple[Array, ...],
        op: RecordedOp,
        attrs: Any,
        args: tuple[GradientEdge, ...],
        operands: tuple[Array, ...],
        needs_input_grad: tuple[bool, ...],
        operand_storages: tuple[Ref | None, ...] = (),
        result_storage: Ref | None = None,
        via: tuple[GradientEdge, ...] = (),
    ) -> tuple[InternalValue, ...]:
        """Record an op that was already computed, and return its results as internal values."""
        outs = tuple([self.constant(at, value) for value in made])
        for edge in outs:
            self.requires_grad[edge] = any(needs_input_grad)
        operand_storages = operand_storages + (None,) * (len(args) - len(operand_storages))
        result_storages = (result_storage,) * len(outs)
        self.append(
            TapeEntry(at, outs, op, attrs, args, operands, needs_input_grad, operand_storages, result_storages, via)
        )
        return outs
