"""What instructions that make values made, and what writes did to the values that there are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.ops.random import RANDOM_OPS
from autograd_conformance.ops.row import Certainty
from autograd_conformance.programs.language import (
    Apply,
    Detach,
    DetachInPlace,
    Grad,
    InPlace,
    Instruction,
    Leaf,
    ReadGrad,
    Ref,
    Step,
    is_recorded,
)
from autograd_conformance.programs.observations import Gradient, Returned, StepObservation, Tensor
from autograd_conformance.programs.operands import operands
from autograd_conformance.reference.bounds import close, forward_bound
from autograd_conformance.reference.reverse import GradientEdge
from autograd_conformance.rules.diagnosis.diagnosis import diagnose
from autograd_conformance.rules.judge.gradients import HUGE, Holdings, unchanged
from autograd_conformance.rules.judge.violation import Violation, op_of
from autograd_conformance.rules.tape.graph import Expectation

Values = Sequence[Tensor | None]


class Making(Holdings):
    """The checks of values."""

    def _made(self, at: int, step: Leaf | Apply | Detach | ReadGrad, values: Values) -> Violation | None:
        rule = "detach/values" if isinstance(step, Detach) else "gradients/forward"
        rule = "networks/random" if isinstance(step, Apply) and step.op in RANDOM_OPS else rule
        for k, tensor in enumerate(values):
            ref = Ref(at, k)
            want = self.reference.values.get(ref)
            if want is None or tensor is None or ref in self.reference.storages.unspecified:
                continue
            self.strides[ref] = tensor.strides
            violation = (
                self._drawn(at, step, ref, tensor)
                or self._value(at, step, rule, ref, tensor, want)
                or self._flag(at, step, ref, tensor)
                or self._place(at, step, ref, tensor)
            )
            if violation:
                return violation
        return None

    def _value(
        self,
        at: int,
        step: Instruction,
        rule: str,
        ref: Ref,
        tensor: Tensor,
        want: np.ndarray,
        edge: GradientEdge | None = None,
    ) -> Violation | None:
        if tensor.value.shape != want.shape:
            return self._differs(rule, at, ref, f"a result of shape {tensor.value.shape}", f"shape {want.shape}", step)
        if close(tensor.value, want, self.dtype) or not np.abs(want).max() < HUGE:
            return None
        bound = forward_bound(self.reference, ref if edge is None else edge, self.dtype)
        if bound.shape != want.shape:  # an alias sees only some elements of what was written
            bound = np.full(want.shape, bound.max())
        if (np.abs(tensor.value - want) <= bound).all() or not self.applies(rule):
            return None
        return Violation(
            rule, at, "returned another value", (("returns its definition's value", rule),), ref, op_of(step),
            got=tensor.value, want=want, bound=bound,
        )  # fmt: skip

    def _drawn(self, at: int, step: Instruction, ref: Ref, tensor: Tensor) -> Violation | None:
        """Whether an op that draws at random may have drawn what it returned."""
        draws = row_of(step.op).draws if isinstance(step, Apply) else None
        if draws is None or draws(tensor.value, **dict(step.attrs)):  # type: ignore[union-attr]
            return None
        seen = f"it drew {tensor.value.tolist()}"
        return self._differs("networks/random", at, ref, seen, "it draws what it is documented to draw", step)

    def _flag(self, at: int, step: Instruction, ref: Ref, tensor: Tensor) -> Violation | None:
        """Whether a result requires grad as it should."""
        requires = self.reference.requires_grad[ref]
        if tensor.requires_grad is None or tensor.requires_grad == requires:
            return None
        if isinstance(step, (ReadGrad, Grad)) and requires and not self.reference.depends(ref):
            self.reference.requires_grad[ref] = False  # the gradient is constant: it need not be recorded
            return None
        about = self._history_rule(at, step, requires)
        if not self.applies(about):
            return None
        words = ("requires grad", "requires no grad")
        seen, due = words if tensor.requires_grad else words[::-1]
        return self._differs(about, at, ref, f"the result {seen}", f"the result {due}", step)

    def _history_rule(self, at: int, step: Instruction, requires: bool) -> str:
        """The rule that says whether a result has a history."""
        if isinstance(step, (ReadGrad, Grad)):
            return "higher/differentiable" if requires else "higher/plain-raises"
        if isinstance(step, Detach):
            return "detach/values"
        if self.program.mode(at) and any(self.reference.requires_grad[r] for r in operands(step)):
            return "modes/recorded" if requires else "modes/no-grad-result"
        if requires and self.tape.unrecorded:
            return "modes/restored"
        return "gradients/requires-grad"

    def _place(self, at: int, step: Instruction, ref: Ref, tensor: Tensor) -> Violation | None:
        """Whether a result uses the memory that it should."""
        if tensor.memory is None or not self.stateful:
            return None
        storages = self.reference.storages
        sources = {storages.ids[storages.storage(r)] for r in operands(step) if storages.storage(r) in storages.ids}
        shares = isinstance(step, Detach) or (isinstance(step, Apply) and row_of(step.op).aliases is Certainty.ALWAYS)
        if shares and sources and tensor.memory not in sources:
            due = "the result shares its operand's memory"
            return self._differs("views/shares", at, ref, "the result has memory of its own", due, step)
        if isinstance(step, Apply) and row_of(step.op).aliases is Certainty.NEVER and tensor.memory in sources:
            due = "the result has memory of its own"
            return self._differs("views/own-memory", at, ref, "the result shares an operand's memory", due, step)
        return None

    # -- the functional form ------------------------------------------------------------------------------------------

    def _functional(self, at: int, step: Grad, expectation: Expectation, seen: StepObservation) -> Violation | None:
        """The gradients that a functional call returned, and what it left alone."""
        assert isinstance(seen.outcome, Returned)
        for leaf, got in seen.gradients.items():
            held = self.tape.grads.get(leaf)
            if not self._fits(step, leaf, held, got, expectation):
                text, due = "what the leaf holds changed", "gradients stay as they were"
                return self._differs("functional/no-accumulation", at, leaf, text, due, step)
        return self._results(at, step, seen.outcome.values, expectation)

    def _fits(
        self, step: Grad, leaf: Ref, held: Gradient | None, got: Gradient | None, expectation: Expectation
    ) -> bool:
        """Only values that retain their gradient get one."""
        if leaf in expectation.traversal.must_accumulate:
            due = self.reference.pullback(step).get(self.reference.edge(leaf))
            return self._complete(step, leaf, held, got, expectation.traversal) or due is None or not due.any()
        return unchanged(held, got) or self._complete(step, leaf, held, got, expectation.traversal)

    def _results(self, at: int, step: Grad, values: Values, expectation: Expectation) -> Violation | None:
        due = self.reference.pullback(step)
        for k, (ref, tensor) in enumerate(zip(step.inputs, values, strict=True)):
            want, out = due.get(self.reference.edge(ref)), Ref(at, k)
            if tensor is None:
                if want is not None and want.any() and not (step.allow_unused and self._tiny(want)):
                    text, rule = "the result is none", self._about_input(step, k, values, "functional/value")
                    return self._differs(rule, at, out, text, "the result is the gradient", step)
                if step.materialize_grads:
                    rule = "functional/materialized"
                    return self._differs(rule, at, out, "the result is none", "the result is zeros", step)
                continue
            traversal, edge = expectation.traversal, self.reference.edge(ref)
            surely_unused = edge not in traversal.must_reach | traversal.may_fire
            if want is None and not step.materialize_grads and (surely_unused or tensor.value.any()):
                rule = "functional/unused-none"
                return self._differs(rule, at, out, "the result is a gradient", "the result is none", step)
            violation = self._gradient(at, step, ref, out, values, want, expectation)
            if violation:
                return violation
            if want is not None and not step.create_graph and tensor.requires_grad:
                text = "the result requires grad"
                return self._differs("higher/plain-raises", at, out, text, "the result requires no grad", step)
            if want is not None and step.create_graph:
                violation = self._flag(at, step, out, tensor)
                if violation:
                    return violation
            if want is not None and not want.any() and step.materialize_grads and step.create_graph:
                self.reference.storages.unspecified.add(out)  # computed, or made anew in the place of what was unused
            self.reference.requires_grad[out] = bool(tensor.requires_grad)
        return None

    def _about_input(self, step: Grad, place: int, values: Values, rule: str) -> str:
        """The rule about an input that got another gradient: one that is listed twice, but got it in one place alone,
        or is no leaf, and got none; `rule` where nothing is special.
        """
        tensor, ref = values[place], step.inputs[place]
        twins = [values[k] for k, other in enumerate(step.inputs) if other == ref and k != place]
        if any((t is None) != (tensor is None) for t in twins):
            return "functional/duplicates"
        if tensor is None:
            return rule if self.reference.is_leaf(ref) else "functional/inner-input"
        differ = (t is not None and not np.array_equal(t.value, tensor.value, equal_nan=True) for t in twins)
        return "functional/duplicates" if any(differ) else rule

    def _tiny(self, want: np.ndarray) -> bool:
        return bool((np.abs(want) < 1e-12).all())

    def _gradient(
        self,
        at: int,
        step: Grad,
        ref: Ref,
        out: Ref,
        values: Values,
        want: np.ndarray | None,
        expectation: Expectation,
    ) -> Violation | None:
        tensor = values[out.output]
        assert tensor is not None
        want = np.zeros_like(self.reference.values[ref]) if want is None else want
        if tensor.value.shape != want.shape:
            text = f"a result of shape {tensor.value.shape}"
            return self._differs("functional/value", at, out, text, f"shape {want.shape}", step)
        if close(tensor.value, want, self.dtype) or not np.abs(want).max() < HUGE:
            return None
        bound = self._slack(step, ref)
        if (np.abs(tensor.value - want) <= bound).all():
            return None
        rule = self._about_input(step, out.output, values, "functional/value")
        rule = self._blamed(expectation, rule)
        if not self.applies(rule):
            return None
        got = {r: None if t is None else t.value for r, t in zip(step.inputs, values, strict=True)}
        diagnosis = diagnose(self.reference, step, ref, {}, got)
        return Violation(
            rule, at, "returned another gradient", (("returns the gradient", rule),), out, None,
            got=tensor.value, want=want, bound=bound, diagnosis=diagnosis.text if diagnosis else None,
        )  # fmt: skip

    # -- writes -------------------------------------------------------------------------------------------------------

    def _written(self, at: int, step: InPlace, seen: StepObservation) -> Violation | None:
        assert isinstance(seen.outcome, Returned)
        target, storages = step.target, self.reference.storages
        affected = set(storages.aliases(target))
        for ref, tensor in seen.values.items():
            want = self.reference.values[ref]
            if ref in storages.unspecified or ref not in affected:
                continue
            rule = "writes/value" if ref == target else "writes/aliases"
            violation = self._value(at, step, rule, ref, tensor, want, self.reference.latest)
            if violation:
                return violation
        violation = self._others(at, step, seen)
        if violation:
            return violation
        left, requires = seen.values.get(target), self.reference.requires_grad[target]
        if left is not None and left.requires_grad not in (None, requires):
            words = ("requires grad", "requires no grad")
            got, due = words if left.requires_grad else words[::-1]
            recorded = is_recorded(self.program.mode(at))
            rule = "writes/requires-grad" if recorded else "modes/unrecorded-write"
            return self._differs(rule, at, target, f"the target {got}", f"the target {due}", step)
        return None

    def _cut_off(self, at: int, step: DetachInPlace, seen: StepObservation) -> Violation | None:
        """Whether a value that was detached in place is what it was, without its history."""
        rule, target, left = "detach/in-place", step.target, seen.values.get(step.target)
        if left is None or target in self.reference.storages.unspecified or not self.applies(rule):
            return None
        want = self.reference.values[target]
        if not np.array_equal(left.value, want, equal_nan=True):
            due = (("the target keeps its value", rule),)
            return Violation(rule, at, "the target's value changed", due, target, got=left.value, want=want)
        if left.requires_grad:
            return self._differs(rule, at, target, "the target requires grad", "the target requires no grad", step)
        return None

    def _others(self, at: int, step: InPlace | Step, seen: StepObservation) -> Violation | None:
        """Whether a write changed nothing but what shares memory with its targets."""
        storages = self.reference.storages
        targets = step.leaves if isinstance(step, Step) else (step.target,)
        affected = {user for target in targets for user in storages.aliases(target)} | storages.unspecified
        for ref, tensor in seen.values.items():
            before = self.before.get(ref)
            if ref in affected or before is None or np.array_equal(tensor.value, before, equal_nan=True):
                continue
            return self._differs(
                "writes/nothing-else", at, ref, "another value changed", "values elsewhere stay as they were", step
            )
        return None
