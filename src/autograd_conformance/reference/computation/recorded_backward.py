"""Backward calls with create_graph: reverse accumulation that records its own ops on the tape."""

from __future__ import annotations

from dataclasses import dataclass, field

from autograd_conformance.programs.language import BackwardCall
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.computation.hooks import Hooks
from autograd_conformance.reference.computation.reverse import MOVE, GradientEdge, TapeEntry, evaluate, transposed
from autograd_conformance.reference.computation.tape import ReferenceTape
from autograd_conformance.reference.staging.vjp import Vjp


@dataclass(slots=True, eq=False)
class RecordedBackward:
    """Carries out instruction `at`, a backward call with create_graph, and records its computation on the tape."""

    tape: ReferenceTape
    hooks: Hooks
    at: int
    cotangents: dict[GradientEdge, GradientEdge] = field(default_factory=dict)
    """For each edge that the pass has reached so far, the edge of its gradient."""

    def run(self, call: BackwardCall) -> dict[GradientEdge, GradientEdge]:
        """Runs the backward pass of a call; returns, for each edge that it reaches, the edge of that edge's
        gradient.
        """
        tape = self.tape
        for edge, ct in tape.roots(call):
            self._add(edge, tape.constant(self.at, ct))
        completed: set[GradientEdge] = set()
        for entry in list(reversed(tape.entries)):
            if any(edge in self.cotangents for edge in entry.outs) and any(entry.needs_input_grad):
                completed.update(entry.outs)
                self._pass_on(entry)
        for edge in list(self.cotangents):
            if edge not in completed:
                self._call_hooks(edge)
        return self.cotangents

    def _add(self, edge: GradientEdge, ct: GradientEdge) -> None:
        """Adds a contribution `ct` to the gradient of an edge, and records the sum."""
        if edge in self.cotangents:
            (ct,) = self.tape.apply(self.at, "add", (), (self.cotangents[edge], ct))
        self.cotangents[edge] = ct

    def _call_hooks(self, edge: GradientEdge) -> None:
        """Apply the hooks on an edge to its complete gradient."""
        tape = self.tape
        for _, hook in self.hooks.on.get(edge, ()):
            value = tape.values[self.cotangents[edge]]
            if hook.effect == "replace":
                self.cotangents[edge] = tape.constant(self.at, np.full_like(value, hook.factor))
            elif hook.effect == "scale":
                factor = tape.constant(self.at, np.full_like(value, hook.factor))
                (self.cotangents[edge],) = tape.apply(self.at, "multiply", (), (self.cotangents[edge], factor))

    def _pass_on(self, entry: TapeEntry) -> None:
        """Propagates the gradients of a tape entry's results to its operands."""
        tape, at = self.tape, self.at
        for edge in entry.outs:
            if edge in self.cotangents:
                self._call_hooks(edge)
        cts = tuple(
            self.cotangents[edge] if edge in self.cotangents else tape.constant(at, np.zeros_like(tape.values[edge]))
            for edge in entry.outs
        )
        made: tuple[GradientEdge, ...]
        if entry.op == MOVE:
            ways = [transposed(entry.attrs, k, x.shape) for k, x in enumerate(entry.operands)]
            made = tuple(tape.apply(at, MOVE, way, cts)[0] for way in ways)
        else:
            made = self._derivative(entry, cts)
        for edge, ct, needs_input_grad in zip(entry.args, made, entry.needs_input_grad, strict=True):
            if needs_input_grad:
                self._add(edge, ct)

    def _derivative(self, entry: TapeEntry, cts: tuple[GradientEdge, ...]) -> tuple[GradientEdge, ...]:
        """Records the vector-Jacobian product of a tape entry as a new entry, and returns the edges of its results. Its
        operands are the entry's operands, with the values recorded there, and then the cotangents.
        """
        tape, op = self.tape, Vjp(entry.op, len(entry.args))
        operands = (*entry.operands, *(tape.values[c] for c in cts))
        needs_input_grad = (*entry.needs_input_grad, *(tape.requires_grad[c] for c in cts))
        return tape.record(
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
