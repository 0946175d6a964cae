"""What leaves hold: gradients after a call, after a failed one, after clearing, assigning and stepping.

Each check compares what was seen with what the tape model and the reference make of what was held before.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Backward, BackwardCall, Instruction, Program, Ref
from autograd_conformance.programs.observations import Gradient, Kind, StepObservation
from autograd_conformance.programs.text import names
from autograd_conformance.reference.bounds import close, gradient_bound, working_dtype
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.diagnosis.diagnosis import diagnose
from autograd_conformance.rules.judge.violation import Violation, op_of
from autograd_conformance.rules.tape.exercises import derived_op
from autograd_conformance.rules.tape.graph import Expectation, Traversal
from autograd_conformance.rules.tape.model import Tape

HUGE = 1e30


class Holdings:
    """What leaves hold after an instruction, against what they have to hold."""

    def __init__(self, program: Program, reference: Reference, claims: frozenset[Capability]) -> None:
        self.program, self.claims = program, claims
        self.stateful = program.stateful  # then what is right depends on what was seen, and the reference follows it
        self.reference = Reference() if self.stateful else reference
        self.reference.observing = self.stateful
        self.tape = Tape(self.reference, Capability.FREES in claims)
        self.exercised: dict[str, int] = {}
        self.before: dict[Ref, np.ndarray] = {}
        self.strides: dict[Ref, tuple[int, ...] | None] = {}
        self.lost = False
        self._dtype: str | None = None

    @property
    def dtype(self) -> str:
        """The dtype that rounding is measured in."""
        if self._dtype is None:
            self._dtype = working_dtype(self.program)
        return self._dtype

    def applies(self, rule: str) -> bool:
        """Whether the framework claims what a rule needs."""
        return RULES[rule].needs <= self.claims

    def _differs(self, rule: str, at: int, ref: Ref, seen: str, due: str, step: Instruction) -> Violation | None:
        return Violation(rule, at, seen, ((due, rule),), ref, op_of(step)) if self.applies(rule) else None

    def _gradients(self, at: int, call: Backward, expectation: Expectation, seen: StepObservation) -> Violation | None:
        due, traversal = self.reference.pullback(call), expectation.traversal
        for leaf, got in seen.gradients.items():
            held = self.tape.grads.get(leaf)
            if leaf not in traversal.must_accumulate:
                known = unchanged(held, got) or self._is_anothers(leaf, call)
                if not known and not self._complete(call, leaf, held, got, traversal):
                    return self._stray(at, leaf, held, got, expectation)
                continue
            contribution = due.get(self.reference.edge(leaf), np.zeros_like(self.reference.values[leaf]))
            before = "accumulation/first" if held is None else "accumulation/adds"
            if leaf not in traversal.leaves:
                before = "hooks/retained" if leaf in self.reference.retained else "functional/inputs-only"
            if got is None:
                if held is None and self._negligible(call, leaf, contribution):
                    continue  # a gradient that is zero throughout may stay undefined
                twins = "gradients/equal-leaves" in expectation.exercises
                rule = "gradients/equal-leaves" if twins and held is None else before
                rule = self._by_module(expectation, rule)
                return self._differs(rule, at, leaf, "the leaf holds no gradient", "the leaf holds a gradient", call)
            dtype = self.tape.leaves[leaf].value.dtype if leaf in self.tape.leaves else got.dtype
            if got.value.shape != contribution.shape or got.dtype != dtype:
                form, due_form = f"a gradient of shape {got.value.shape}, {got.dtype}", f"shape {contribution.shape}"
                return self._differs("gradients/form", at, leaf, form, f"{due_form}, {dtype}", call)
            violation = self._compare(at, call, leaf, seen, contribution, expectation, before)
            if not violation and leaf in traversal.leaves:
                violation = self._object(at, call, leaf, held, got)
            if violation:
                return violation
        return self._shared(at, seen, traversal)

    def _is_anothers(self, leaf: Ref, call: BackwardCall) -> bool:
        """Whether a leaf holds an object that was assigned to, or taken from, another value that may be added to."""
        held = self.tape.grads.get(leaf)
        if held is None or held.memory is None:
            return False
        others = (g for r, g in self.tape.grads.items() if r != leaf)
        return any(g is not None and g.memory == held.memory for g in others)

    def _complete(
        self, call: BackwardCall, leaf: Ref, held: Gradient | None, got: Gradient | None, traversal: Traversal
    ) -> bool:
        """Whether a value that a call may add to holds its old gradient and the whole contribution."""
        if leaf not in traversal.must_accumulate | traversal.may_accumulate or got is None:
            return False
        contribution = self.reference.pullback(call).get(self.reference.edge(leaf))
        if contribution is None or got.value.shape != contribution.shape:
            return contribution is None and not got.value.any()
        want = contribution if held is None else held.value + contribution
        if close(got.value, want, self.dtype):
            return True
        return bool((np.abs(got.value - want) <= self._bound(call, leaf, held, want)).all())

    def _object(self, at: int, call: Backward, leaf: Ref, held: Gradient | None, got: Gradient) -> Violation | None:
        """Whether the gradient is the same object as before, or another, and laid out as it should be."""
        if not got.value.size:
            return None
        if held is not None and held.identity is not None and got.identity is not None:
            kept = held.identity == got.identity
            if kept and call.create_graph and not unchanged(held, got):
                rule, text, due = "accumulation/replaces", "the same object was changed", "the leaf holds a new object"
                return self._differs(rule, at, leaf, text, due, call)
            if not kept and not call.create_graph:
                rule, text = "accumulation/in-place", "the leaf holds another object"
                return self._differs(rule, at, leaf, text, "the gradient that it held is added to in place", call)
        strides = self.strides.get(leaf)
        if held is None and not call.create_graph and strides is not None and got.strides is not None:
            want = _laid_out(strides, got.value.shape)
            if any(a != b for a, b, n in zip(got.strides, want, got.value.shape, strict=True) if n > 1):
                text = f"the gradient has strides {got.strides}"
                return self._differs("accumulation/layout", at, leaf, text, f"strides {want}", call)
        return None

    def _compare(
        self,
        at: int,
        call: Backward,
        leaf: Ref,
        seen: StepObservation,
        contribution: np.ndarray,
        expectation: Expectation,
        before: str,
    ) -> Violation | None:
        held, got = self.tape.grads.get(leaf), seen.gradients[leaf]
        assert got is not None
        want = contribution if held is None else held.value + contribution
        if close(got.value, want, self.dtype) or not np.abs(want).max() < HUGE:
            return None
        bound = self._bound(call, leaf, held, want)
        if (np.abs(got.value - want) <= bound).all():
            return None
        alone = expectation.traversal.alone
        rule, op = ("gradients/op", str(expectation.traversal.nodes[0].op)) if alone else ("gradients/graph", None)
        rule = self._blamed(expectation, rule)
        gradients = values_of(self.tape.grads), values_of(seen.gradients)
        diagnosis = diagnose(self.reference, call, leaf, *gradients, alone)
        if diagnosis and self.applies(diagnosis.rule) and rule in ("gradients/op", "gradients/graph", "training/loop"):
            rule = diagnosis.rule
        if leaf not in expectation.traversal.leaves:
            rule = before
        derived = derived_op(expectation.traversal)
        blamed = {"gradients/op": op, "higher/op": derived, "higher/op-third": derived}
        allowed: tuple[tuple[str, str], ...] = (("returns with the right gradient", before),)
        if Kind.MODIFIED in expectation.raises:
            allowed += ((f"raises: {Kind.MODIFIED.value}", expectation.raises[Kind.MODIFIED]),)
        return Violation(
            rule, at, "returned with another gradient", allowed, leaf,
            blamed.get(rule), None if held is None else held.value, got.value, want, bound,
            diagnosis.text if diagnosis else None,
        )  # fmt: skip

    def _blamed(self, expectation: Expectation, rule: str) -> str:
        """The rule that a wrong gradient breaks, told from what the call walks; `rule` where nothing is special."""
        special = (
            "writes/error-or-recorded", "higher/op", "higher/op-third", "higher/differentiable", "hooks/result",
            "views/history", "writes/recorded",
        )  # fmt: skip
        rule = self._by_module(expectation, rule)
        if rule == "gradients/graph" and "training/loop" in expectation.exercises and self.applies("training/loop"):
            rule = "training/loop"
        return next((s for s in special if s in expectation.exercises and self.applies(s)), rule)

    def _by_module(self, expectation: Expectation, rule: str) -> str:
        """The rule about the gradients of the modules that a call goes through; `rule` where it goes through none."""
        modules = ("recurrent/gradient", "networks/gradient")
        return next((s for s in modules if s in expectation.exercises and self.applies(s)), rule)

    def _negligible(self, call: BackwardCall, leaf: Ref, contribution: np.ndarray) -> bool:
        """Whether a contribution is zero but for the rounding of the reference itself."""
        if not contribution.any():
            return True
        return bool((np.abs(contribution) <= self._slack(call, leaf)).all())

    def _slack(self, call: BackwardCall, ref: Ref) -> np.ndarray:
        """How far rounding may take what a call contributes to a value."""
        return self._slack_of(call, self.reference.edge(ref))

    def _slack_of(self, call: BackwardCall, edge: Ref) -> np.ndarray:
        return gradient_bound(self.reference, call, edge, self.dtype)

    def _bound(self, call: BackwardCall, leaf: Ref, held: Gradient | None, want: np.ndarray) -> np.ndarray:
        bound = self._slack(call, leaf)
        if held is not None:
            eps = np.finfo(self.dtype).eps
            bound = bound + 2 * eps * (np.abs(held.value) + np.abs(want))
        return bound

    def _stray(
        self, at: int, leaf: Ref, held: Gradient | None, got: Gradient | None, expectation: Expectation
    ) -> Violation | None:
        """A leaf that the call does not reach, whose gradient changed all the same."""
        rule = "accumulation/unreached"
        if not self.reference.requires_grad[leaf]:
            rule = "modes/frozen-leaf" if leaf in expectation.traversal.must_reach else "accumulation/constant"
        elif "detach/blocks" in expectation.exercises:
            rule = "detach/blocks"
        seen = (
            "the leaf lost its gradient"
            if got is None
            else "the leaf received a gradient"
            if held is None
            else "the leaf's gradient changed"
        )
        if not self.applies(rule):
            return None
        return Violation(
            rule, at, seen, (("the leaf's gradient stays as it was", rule),), leaf,
            held=None if held is None else held.value, got=None if got is None else got.value,
        )  # fmt: skip

    def _shared(self, at: int, seen: StepObservation, traversal: Traversal) -> Violation | None:
        owner: dict[int, Ref] = {}
        for leaf, gradient in seen.gradients.items():
            if gradient is None or gradient.identity is None or not gradient.value.size:
                continue
            other = owner.setdefault(gradient.identity, leaf)
            if other != leaf and not self._were_one(other, leaf) and self.applies("accumulation/own-object"):
                name = names(self.program)
                return Violation(
                    "accumulation/own-object", at, f"{name[other]} and {name[leaf]} hold the same gradient object",
                    (("each leaf holds an object of its own", "accumulation/own-object"),), leaf,
                    _meeting(traversal, other, leaf),
                    partner=other,
                )  # fmt: skip
        return None

    def _were_one(self, one: Ref, other: Ref) -> bool:
        """Whether two leaves held the same object before: the program assigned it to both."""
        if other in self.reference.same_objects([one]):
            return True
        held = self.tape.grads.get(one), self.tape.grads.get(other)
        return all(g is not None and g.identity is not None for g in held) and held[0].identity == held[1].identity  # type: ignore[union-attr]


def values_of(gradients: Mapping[Ref, Gradient | None]) -> dict[Ref, np.ndarray | None]:
    """What each leaf holds, as plain arrays."""
    return {leaf: None if gradient is None else gradient.value for leaf, gradient in gradients.items()}


def unchanged(held: Gradient | None, got: Gradient | None) -> bool:
    """Whether a gradient is what it was."""
    if held is None or got is None:
        return held is got
    return held.value.shape == got.value.shape and np.array_equal(held.value, got.value, equal_nan=True)


def _meeting(traversal: Traversal, one: Ref, other: Ref) -> str | None:
    """The op in which two leaves first meet on the way to the roots."""
    reach: dict[Ref, set[Ref]] = {}
    for node in reversed(traversal.nodes):
        met = {leaf for edge in node.args for leaf in reach.get(edge, {edge})} & {one, other}
        reach.update(dict.fromkeys(node.entry.outs, met))
        if len(met) == 2:
            return str(node.op)
    return None


def _laid_out(strides: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides that a gradient should have: the leaf's own where its elements are dense, else row-major order."""
    dense, size = True, 1
    for stride, n in sorted((s, n) for s, n in zip(strides, shape, strict=True) if n > 1):
        dense, size = dense and stride == size, size * n
    if dense:
        return strides
    return tuple(int(np.prod(shape[k + 1 :])) for k in range(len(shape)))
