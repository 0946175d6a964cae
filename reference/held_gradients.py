"""Gradients as values: what is held, in whose memory, and with what history; gradients of gradients."""

from __future__ import annotations

import numpy as np
from autograd_conformance.programs.language import AssignGrad, Backward, BackwardCall, Grad, Instruction, Ref, ZeroGrad
from autograd_conformance.programs.observations import Gradient, Returned, StepObservation
from autograd_conformance.reference.reverse import MOVE, GradientEdge, TapeEntry, evaluate, transposed
from autograd_conformance.reference.staging.derivatives import VJP, Array
from autograd_conformance.reference.state import State
from autograd_conformance.reference.storage import Derived


class Holding(State):
    """The part of the reference that knows of gradients as values."""

    def __init__(self) -> None:
        super().__init__()
        self.identities: dict[Ref, int | None] = {}
        self.stale: set[Ref] = set()
        self._due: dict[int, dict[Ref, Array]] = {}

    # -- calls --------------------------------------------------------------------------------------------------------

    def _call(self, at: int, call: BackwardCall) -> tuple[Array, ...]:
        if not self.observing and not self._is_legal(call):
            return () if isinstance(call, Backward) else self._results(at, call, {}, {})
        created = self.created(at, call) if call.create_graph else {}
        special = self.edges or call.inputs is not None or self.retained
        if isinstance(call, Backward) and not (created or special or self.histories or self.observing):
            return ()
        due = self.pullback(call)  # type: ignore[attr-defined]
        if isinstance(call, Grad):
            return self._results(at, call, due, created)
        reached = self.receivers(call, due)
        if not self.observing and special:
            self._due[at] = {ref: due[self.edge(ref)] for ref in reached}
        for ref in reached:
            held = self.grads.get(ref)
            if held is not None and not call.create_graph:
                self.storages.versions[self.storages.storage(held)] = at
            old = self.histories.get(ref)
            if call.create_graph:
                self.unspecified = (
                    self.unspecified or self.grads.get(ref) in self.stale
                )  # its history goes on in the new gradient
                new = created[self.edge(ref)]
                self.histories[ref] = new if old is None else self.shadow(at, "add", (), (old, new))[0]
            elif old is not None:
                del self.histories[ref]
                if held is not None:
                    self.stale.add(held)
        return ()

    def receivers(self, call: Backward, due: dict[GradientEdge, Array]) -> list[Ref]:
        """The values that a call's contributions are added to, as far as it reaches them."""
        if call.inputs is not None:
            into = [*dict.fromkeys(call.inputs), *(r for r in self.retained if r not in call.inputs)]
        else:
            into = [r for r in due if r not in self.producer and self.requires_grad[r] and self.edge(r) == r]
            into += self.retained
        return [r for r in into if self.edge(r) in due]

    def _gets_new(self, step: Instruction, holder: Ref) -> bool:
        """Whether an instruction is a call that makes a value hold a new gradient."""
        if not isinstance(step, Backward) or not step.create_graph:
            return False
        return holder in self.receivers(step, self.pullback(step))  # type: ignore[attr-defined]

    def _is_legal(self, call: BackwardCall) -> bool:
        """Whether a call can be computed at all: an implementation refuses it otherwise."""
        pairs = zip(call.roots, call.cotangents, strict=True)
        return all(
            self.requires_grad[r] and (self.values[r].size == 1 if c is None else c.shape == self.values[r].shape)
            for r, c in pairs
        )

    def _results(
        self, at: int, call: Grad, due: dict[GradientEdge, Array], created: dict[GradientEdge, GradientEdge]
    ) -> tuple[Array, ...]:
        made = []
        for k, ref in enumerate(call.inputs):
            edge, out = self.edge(ref), Ref(at, k)
            value = due.get(edge)
            self.values[out] = np.zeros_like(self.values[ref]) if value is None else value
            self.requires_grad[out] = edge in created and self.requires_grad[created[edge]]
            if edge in created:
                self.edges[out] = created[edge]
            made.append(self.values[out])
            self.made_by_call.setdefault(at, []).append(out)
        return tuple(made)

    def created(self, at: int, call: BackwardCall) -> dict[GradientEdge, GradientEdge]:
        """The backward pass of a call, recorded op by op: for each slot that it reaches, that of its gradient."""
        cotangents: dict[GradientEdge, GradientEdge] = {}

        def add(edge: GradientEdge, ct: GradientEdge) -> None:
            cotangents[edge] = self.shadow(at, "add", (), (cotangents[edge], ct))[0] if edge in cotangents else ct

        def complete(edge: GradientEdge) -> None:
            for _, hook in self.hooks.get(edge, ()):
                value = self.values[cotangents[edge]]
                if hook.effect == "replace":
                    cotangents[edge] = self.constant(at, np.full_like(value, hook.factor))
                elif hook.effect == "scale":
                    factor = self.constant(at, np.full_like(value, hook.factor))
                    (cotangents[edge],) = self.shadow(at, "multiply", (), (cotangents[edge], factor))

        for edge, ct in self.roots(call):  # type: ignore[attr-defined]
            add(edge, self.constant(at, ct))
        inner: set[GradientEdge] = set()
        for record in list(reversed(self.entries)):
            if not any(r in cotangents for r in record.outs) or not any(record.needs_input_grad):
                continue
            for edge in record.outs:
                inner.add(edge)
                if edge in cotangents:
                    complete(edge)
            cts = tuple(
                cotangents[r] if r in cotangents else self.constant(at, np.zeros_like(self.values[r]))
                for r in record.outs
            )
            if record.op == MOVE:
                shapes = [x.shape for x in record.operands]
                made = tuple(
                    self.shadow(at, MOVE, transposed(record.attrs, k, shape), cts)[0] for k, shape in enumerate(shapes)
                )
            else:
                made = self._derivative(at, record, cts)
            for edge, ct, needs_input_grad in zip(record.args, made, record.needs_input_grad, strict=True):
                if needs_input_grad:
                    add(edge, ct)
        for edge in list(cotangents):
            if edge not in inner:
                complete(edge)
        return cotangents

    def _derivative(self, at: int, record: TapeEntry, cts: tuple[GradientEdge, ...]) -> tuple[GradientEdge, ...]:
        """The derivative of one record, as a record; its operands are those of the record, as they were then."""
        op = f"{VJP}{len(record.args)} {record.op}"
        operands = (*record.operands, *(self.values[c] for c in cts))
        needs_input_grad = (*record.needs_input_grad, *(self.requires_grad[c] for c in cts))
        made = evaluate(op, record.attrs, operands)
        return self._shadow(
            at,
            made,
            op,
            record.attrs,
            record.args + cts,
            operands,
            needs_input_grad,
            record.operand_storages,
            via=record.outs,
        )

    # -- what is held -------------------------------------------------------------------------------------------------

    def _held(self, at: int, leaf: Ref) -> tuple[Array, ...]:
        held = self.grads.get(leaf) if self.observing else None
        if held is None:
            value = self.held(leaf)  # type: ignore[attr-defined]
            held = self.unnamed(np.zeros_like(self.values[leaf]) if value is None else value)
            self._remember(leaf, held)
        ref = Ref(at)
        self.storages.views(ref, Derived(held), restricted=False)
        self.values[ref], self.requires_grad[ref] = self.values[held], self.requires_grad[held]
        self.same[ref] = self.same.get(held, held)
        if held in self.stale:
            self.unspecified = True
        return (self.values[ref],)

    def _remember(self, holder: Ref, held: Ref) -> None:
        history = self.histories.get(holder)
        if history is not None:
            self.edges[held] = history
            self.requires_grad[held] = self.requires_grad[history]

    def _changed(self, step: Instruction) -> None:
        """Gradients cleared or assigned."""
        match step:
            case ZeroGrad(leaves):
                for leaf in leaves:
                    self.histories.pop(leaf, None)
                    held = None if step.set_to_none else self.grads.get(leaf)
                    if held is not None:
                        self.storages.versions[self.storages.storage(held)] = (
                            len(self.steps) - 1
                        )  # zeros before, or not
                        if self.requires_grad[held]:
                            self.stale.add(held)
                            users = self.same_objects([held, *self.storages.aliases(held)])
                            self.storages.unspecified.update(r for r in users if r.at >= 0)
            case AssignGrad(leaf, given):
                self.histories.pop(leaf, None)
                held = self.grads.get(leaf)
                if held is not None and held.at < 0:
                    self.storages.forget([held])  # nobody holds it any more: its memory may be used again
                if given is not None and self.requires_grad[given]:
                    self.histories[leaf] = self.edge(given)
                self.grads[leaf] = given
                self.identities[leaf] = None

    def observe(self, at: int, step: Instruction, seen: StepObservation) -> None:
        """Follow what was seen of the gradients that are held."""
        torn = isinstance(step, Backward) and step.create_graph and not isinstance(seen.outcome, Returned)
        for holder, gradient in seen.gradients.items():
            held = self.grads.get(holder)
            assigned = isinstance(step, AssignGrad) and step.leaf == holder
            if gradient is None:
                if held is not None and held.at < 0:
                    self.storages.forget([held])
                self.grads[holder] = None
            elif held is not None and not (gradient.value.size or assigned or self._gets_new(step, holder)):
                continue  # empty objects cannot be told apart: it is taken for the one that was held
            elif assigned and held is not None:
                self.identities[holder] = gradient.identity
            else:
                asked = (
                    isinstance(step, Backward) and step.create_graph and holder in self.captured_inputs - self.retained
                )
                self._follow(at, holder, gradient, torn or asked)

    def _follow(self, at: int, holder: Ref, gradient: Gradient, torn: bool) -> None:
        held, value = self.grads.get(holder), gradient.value.astype(np.float64)
        known = gradient.identity is not None and value.size > 0
        if held is not None and known and self.identities.get(holder) == gradient.identity:
            if not np.array_equal(self.values[held], value, equal_nan=True):
                self.overwrite(at, held, value)
            return
        if held is not None and not known and value.size:
            self.storages.unspecified.update(r for r in self.storages.aliases(held) if r.at >= 0)
        made = self.grads[holder] = self.unnamed(value)
        self.storages.laid_out(made, value.shape, gradient.strides)
        self.made_by_call.setdefault(at, []).append(made)
        self.identities[holder] = gradient.identity
        if held is not None and held.at < 0:
            self.storages.forget([held])
        if gradient.memory is not None:
            self.storages.seen_at(made, gradient.memory)
        self._remember(holder, made)
        if torn:
            self.stale.add(made)  # a call may have left a part of its history, or all of it
