"""Backward calls with create_graph: reverse accumulation that records its own ops on the tape."""

from __future__ import annotations

from autograd_conformance.programs.language import BackwardCall
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.computation.pullback import Pullback
from autograd_conformance.reference.computation.reverse import MOVE, GradientEdge, TapeEntry, evaluate, transposed
from autograd_conformance.reference.staging.vjp import Vjp


class RecordedBackward:
    """The backward pass of instruction `at`, recorded on a reference's tape."""

    def __init__(self, reference: Pullback, at: int) -> None:
        self.reference = reference
        self.at = at
        self.cotangents: dict[GradientEdge, GradientEdge] = {}
        """For each edge that was reached so far, the edge of its gradient."""

    def run(self, call: BackwardCall) -> dict[GradientEdge, GradientEdge]:
        """Run the backward pass of a call; returns the edge of the gradient of each edge that it reaches."""
        reference = self.reference
        for edge, ct in reference.roots(call):
            self._add(edge, reference.constant(self.at, ct))
        completed: set[GradientEdge] = set()
        for entry in list(reversed(reference.entries)):
            if any(edge in self.cotangents for edge in entry.outs) and any(entry.needs_input_grad):
                completed.update(entry.outs)
                self._pass_on(entry)
        for edge in list(self.cotangents):
            if edge not in completed:
                self._call_hooks(edge)
        return self.cotangents

    def _add(self, edge: GradientEdge, ct: GradientEdge) -> None:
        """Add a contribution to the gradient of an edge."""
        if edge in self.cotangents:
            (ct,) = self.reference.apply_internal(self.at, "add", (), (self.cotangents[edge], ct))
        self.cotangents[edge] = ct

    def _call_hooks(self, edge: GradientEdge) -> None:
        """Apply the hooks on an edge to its complete gradient."""
        reference = self.reference
        for _, hook in reference.hooks.get(edge, ()):
            value = reference.values[self.cotangents[edge]]
            if hook.effect == "replace":
                self.cotangents[edge] = reference.constant(self.at, np.full_like(value, hook.factor))
            elif hook.effect == "scale":
                factor = reference.constant(self.at, np.full_like(value, hook.factor))
                scaled = reference.apply_internal(self.at, "multiply", (), (self.cotangents[edge], factor))
                (self.cotangents[edge],) = scaled

    def _pass_on(self, entry: TapeEntry) -> None:
        """Propagate the gradients of an entry's results to its operands."""
        reference, at = self.reference, self.at
        for edge in entry.outs:
            if edge in self.cotangents:
                self._call_hooks(edge)
        cts = tuple(
            self.cotangents[edge]
            if edge in self.cotangents
            else reference.constant(at, np.zeros_like(reference.values[edge]))
            for edge in entry.outs
        )
        made: tuple[GradientEdge, ...]
        if entry.op == MOVE:
            ways = [transposed(entry.attrs, k, x.shape) for k, x in enumerate(entry.operands)]
            made = tuple(reference.apply_internal(at, MOVE, way, cts)[0] for way in ways)
        else:
            made = self._derivative(entry, cts)
        for edge, ct, needs_input_grad in zip(entry.args, made, entry.needs_input_grad, strict=True):
            if needs_input_grad:
                self._add(edge, ct)

    def _derivative(self, entry: TapeEntry, cts: tuple[GradientEdge, ...]) -> tuple[GradientEdge, ...]:
        """Record the derivative of an entry as a new entry. Its operands include the entry's operands, with the values
        recorded there.
        """
        reference, op = self.reference, Vjp(entry.op, len(entry.args))
        operands = (*entry.operands, *(reference.values[c] for c in cts))
        needs_input_grad = (*entry.needs_input_grad, *(reference.requires_grad[c] for c in cts))
        return reference.record_internal(
            self.at,
            evaluate(op, entry.attrs, operands),
            op,
            entry.attrs,
            entry.args + cts,
            operands,
            needs_input_grad,
            entry.operand_storages,
            via=entry.outs,
        )
