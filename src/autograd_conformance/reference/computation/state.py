"""The state of the reference: values, gradient edges, tape and storages, with the methods that record ops and overwrite
storages.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from autograd_conformance.ops.catalogue import MAY_BE_VIEWS
from autograd_conformance.programs.language import Apply, Attrs, Grad, Instruction, Ref
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.computation.reverse import GradientEdge, TapeEntry, evaluate
from autograd_conformance.reference.computation.storage import Storages
from autograd_conformance.reference.computation.value_types import FIRST_INTERNAL, GradTensor, InternalValue
from autograd_conformance.reference.staging.derivatives import Array
from autograd_conformance.reference.staging.vjp import RecordedOp


class State:
    """The values of a program so far, their gradient edges, the tape, and the storages.

    It is the first of five classes, each of which builds on the one before: `State`, `Pullback` (the contributions of
    calls), `Grads` (the `.grad` of values), `Writes` (the effects of writes), `Reference` (all of these, one
    instruction at a time).
    """

    def __init__(self) -> None:
        self.steps: list[Instruction] = []
        """The instructions so far."""
        self.skipped: set[int] = set()
        """The numbers of the instructions that raised, and so had no effect."""
        self.values: dict[Ref, Array] = {}
        """The current float64 elements of each value of the program, gradient tensor and internal value."""
        self.requires_grad: dict[Ref, bool] = {}
        """The current `requires_grad` of each value."""
        self.edges: dict[Ref, GradientEdge] = {}
        """The gradient edges of values whose edge is not the value itself, because a recorded write or a call changed
        it."""
        self.entries: list[TapeEntry] = []
        """The tape, oldest entry first. It contains every op, including those through which no gradient flows."""
        self.producer: dict[GradientEdge, int] = {}
        """For each edge with a history, the number of the tape entry that made it."""
        self.storages = Storages(self.values)
        """The memory shared between values."""
        self.rebased: set[GradientEdge] = set()
        """Edges of views that were written to, or share memory that was written to. Implementations rebuild the history
        of such a view, and whether a later call finds a gradient that flows through the old history is unspecified."""
        self.same_object: dict[Ref, Ref] = {}
        """For each value that is the same object as an earlier value, that earlier value: a gradient that was read, or
        an input listed twice."""
        self.unspecified = False
        """Whether an instruction used something that the rules leave unspecified: from then on, nothing is judged."""
        self._cached: tuple[object, tuple[Array, ...]] = (None, ())  # the key of the latest `apply`, and its results
        self._internal_counts: dict[int, int] = {}
        self._grad_tensors = 0

    # -- values -------------------------------------------------------------------------------------------------------

    def edge(self, ref: Ref) -> GradientEdge:
        """The edge to which a value's gradient currently flows."""
        ref = self.same_object.get(ref, ref)
        return self.edges.get(ref, ref)

    def same_objects(self, refs: Iterable[Ref]) -> set[Ref]:
        """The given values, and all values that are the same object as one of them."""
        found = set(refs)
        if not found or not self.same_object:
            return found
        objects = {self.same_object.get(r, r) for r in found}
        return found | objects | {r for r, other in self.same_object.items() if other in objects}

    def is_leaf(self, ref: Ref) -> bool:
        """Whether a value is a leaf: it does not require grad, or it has no history."""
        return not self.requires_grad[ref] or self.edge(ref) not in self.producer

    def is_gradient(self, ref: Ref) -> bool:
        """Whether a backward call made a value: a tensor in a `.grad`, or a result of `Grad`."""
        return isinstance(ref, GradTensor) or isinstance(self.steps[ref.at], Grad)

    def may_be_view(self, ref: Ref) -> bool:
        """Whether a value may be a view, even of a tensor that no instruction can access: gradients, and the results of
        some ops.
        """
        ref = self.same_object.get(ref, ref)
        if self.is_gradient(ref):
            return True
        step = self.steps[ref.at]
        return isinstance(step, Apply) and step.op in MAY_BE_VIEWS

    def may_be_written_view(self, ref: Ref) -> bool:
        """Whether the memory of a value was written to, and other values, or internal tensors of an op, may share that
        memory.
        """
        storages = self.storages
        written = storages.storage(ref) in storages.versions
        return written and (self.may_be_view(ref) or len(storages.aliases(ref)) > 1)

    def new_grad_tensor(self, value: Array) -> GradTensor:
        """Make a tensor for a `.grad`, without a history."""
        self._grad_tensors += 1
        ref = GradTensor(-self._grad_tensors)
        self.values[ref], self.requires_grad[ref] = value, False
        return ref

    def constant(self, at: int, value: Array) -> InternalValue:
        """Make an internal value of instruction `at`, without a history."""
        number = self._internal_counts.get(at, FIRST_INTERNAL)
        self._internal_counts[at] = number + 1
        edge = InternalValue(at, number)
        self.values[edge], self.requires_grad[edge] = value, False
        return edge

    # -- computing ----------------------------------------------------------------------------------------------------

    def apply(self, op: str, args: tuple[Ref, ...], attrs: Attrs) -> tuple[Array, ...]:
        """The results that an op, or a write, would have now, without adding an instruction. They are cached for the
        instruction that may follow.
        """
        made = evaluate(op, attrs, [self.values[r] for r in args])
        self._cached = (len(self.steps), op, args, attrs), made
        return made

    def _applied(
        self, at: int, op: str, args: tuple[Ref, ...], attrs: Attrs, operands: tuple[Array, ...]
    ) -> tuple[Array, ...]:
        """The results of an op that instruction `at` applies; cached if the strategy evaluated them already."""
        key, made = self._cached
        return made if key == (at, op, args, attrs) else evaluate(op, attrs, operands)

    # -- recording ----------------------------------------------------------------------------------------------------

    def record(
        self,
        at: int,
        outs: tuple[GradientEdge, ...],
        op: RecordedOp,
        attrs: Any,
        args: tuple[Ref, ...],
        operands: tuple[Array, ...],
        needs_input_grad: tuple[bool, ...],
    ) -> None:
        """Record an op; `outs` are values of the program."""
        storage = self.storages.storage
        edges = args if not self.edges and not self.same_object else tuple([self.edge(r) for r in args])
        operand_storages, result_storages = tuple([storage(r) for r in args]), tuple([storage(r) for r in outs])
        self._append(
            TapeEntry(at, outs, op, attrs, edges, operands, needs_input_grad, operand_storages, result_storages)
        )

    def _append(self, entry: TapeEntry) -> None:
        if any(entry.needs_input_grad):
            for edge in entry.outs:
                self.producer[edge] = len(self.entries)
        self.entries.append(entry)

    def apply_internal(self, at: int, op: str, attrs: Any, args: tuple[GradientEdge, ...]) -> tuple[InternalValue, ...]:
        """Compute an op on edges, record it for instruction `at`, and return its results as internal values."""
        operands = tuple([self.values[r] for r in args])
        made = evaluate(op, attrs, operands)
        return self.record_internal(at, made, op, attrs, args, operands, tuple([self.requires_grad[r] for r in args]))

    def record_internal(
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
        self._append(
            TapeEntry(at, outs, op, attrs, args, operands, needs_input_grad, operand_storages, result_storages, via)
        )
        return outs

    # -- storages -----------------------------------------------------------------------------------------------------

    def overwrite(self, at: int, ref: Ref, value: Array) -> None:
        """Give a value, and so all values that share its storage, new contents, by instruction `at`."""
        storages, storage = self.storages, self.storages.storage(ref)
        storages.versions[storage] = at
        for other in storages.overlapping.get(storage, ()):
            storages.unspecified.update(storages.aliases(other))
        aliases = storages.aliases(ref)
        self.rebased.update(self.edge(alias) for alias in aliases if self.may_be_view(alias))
        if len(aliases) == 1:
            self.values[ref] = value
            return
        content = np.array(self.values[storage], dtype=np.float64).ravel()
        content[storages.offsets(ref).ravel()] = np.ravel(value)
        for alias in aliases:
            self.values[alias] = content[storages.offsets(alias)]
