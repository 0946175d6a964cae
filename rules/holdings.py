"""What leaves hold: gradients after a call, after a failed one, after clearing, assigning and stepping.

Each check compares what was seen with what the tape model and the reference make of what was held before.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rules.catalogue import RULES, Needs
from rules.diagnosis import diagnose
from rules.graph import Expectation, Walk
from rules.language import (
    Apply,
    AssignGrad,
    Backward,
    Instruction,
    Program,
    Ref,
    Step,
    ZeroGrad,
)
from rules.observations import Gradient, Raised, Seen
from rules.reference.bound import close, gradient_bound, working_dtype
from rules.reference.values import Reference
from rules.tape import ON_THE_WAY, Tape
from rules.text import names
from rules.verdicts import Violation

HUGE = 1e30


class Holdings:
    """What leaves hold after an instruction, against what they have to hold."""

    def __init__(self, program: Program, reference: Reference, claims: frozenset[Needs]) -> None:
        self.program, self.claims = program, claims
        self.stateful = program.stateful  # then what is right depends on what was seen, and the reference follows it
        self.reference = Reference() if self.stateful else reference
        self.tape = Tape(self.reference.values, Needs.FREES in claims)
        self.exercised: dict[str, int] = {}
        self.before: dict[Ref, np.ndarray] = {}
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

    def _assigned(self, at: int, step: AssignGrad, seen: Seen) -> Violation | None:
        rule = "accumulation/assigned"
        for leaf in self.tape.leaves:
            got, held = seen.gradients.get(leaf), self.tape.held.get(leaf)
            if leaf != step.leaf:
                fine = _unchanged(held, got)
            elif step.value is None:
                fine = got is None
            else:
                want = self.reference.values[step.value]
                fine = got is not None and close(got.value, want, self.dtype)
            if not fine:
                shown = "none" if got is None else f"{got.value.tolist()}"
                return self._differs(
                    rule, at, leaf, f"the leaf holds {shown}", "the leaf holds what was assigned", step
                )
        return None

    def _stepped(self, at: int, step: Step, values: tuple, seen: Seen) -> Violation | None:
        rule = "writes/step"
        for leaf, tensor in zip(step.leaves, values, strict=True):
            want, old = self.reference.values[leaf], self.before[leaf]
            slack = 64 * np.finfo(self.dtype).eps * (np.abs(old) + np.abs(want - old))
            if not (np.abs(tensor.value - want) <= slack).all() and self.applies(rule):
                return Violation(
                    rule, at, "the leaf has another value", (("the leaf moves by the optimizer's formula", rule),),
                    leaf,
                    got=tensor.value, want=want, bound=slack,
                )  # fmt: skip
        for leaf in self.tape.leaves:
            if not _unchanged(self.tape.held.get(leaf), seen.gradients.get(leaf)):
                return self._differs(rule, at, leaf, "the leaf's gradient changed", "gradients stay as they were", step)
        return None

    def _differs(self, rule: str, at: int, ref: Ref, seen: str, due: str, step: Instruction) -> Violation | None:
        return Violation(rule, at, seen, ((due, rule),), ref, op_of(step)) if self.applies(rule) else None

    def _gradients(self, at: int, call: Backward, expectation: Expectation, seen: Seen) -> Violation | None:
        due = self.reference.pullback(call)
        for leaf, made in self.tape.leaves.items():
            held, got = self.tape.held.get(leaf), seen.gradients.get(leaf)
            if leaf not in expectation.walk.leaves:
                if not _unchanged(held, got):
                    return self._stray(at, leaf, held, got, expectation)
                continue
            contribution = due[leaf]
            before = "accumulation/first" if held is None else "accumulation/adds"
            if got is None:
                if held is None and self._negligible(call, leaf, contribution):
                    continue  # a gradient that is zero throughout may stay undefined
                twins = "gradients/equal-leaves" in expectation.exercises
                rule = "gradients/equal-leaves" if twins and held is None else before
                return self._differs(rule, at, leaf, "the leaf holds no gradient", "the leaf holds a gradient", call)
            if got.value.shape != contribution.shape or got.dtype != made.value.dtype:
                form = f"a gradient of shape {got.value.shape}, {got.dtype}"
                return self._differs(
                    "gradients/form", at, leaf, form, f"shape {contribution.shape}, {made.value.dtype}", call
                )
            violation = self._compare(at, call, leaf, seen, contribution, expectation, before)
            if violation:
                return violation
        return self._shared(at, seen, expectation.walk)

    def _compare(
        self,
        at: int,
        call: Backward,
        leaf: Ref,
        seen: Seen,
        contribution: np.ndarray,
        expectation: Expectation,
        before: str,
    ) -> Violation | None:
        held, got = self.tape.held.get(leaf), seen.gradients[leaf]
        assert got is not None
        want = contribution if held is None else held.value + contribution
        if close(got.value, want, self.dtype) or not np.abs(want).max() < HUGE:
            return None
        bound = self._bound(call, leaf, held, want)
        if (np.abs(got.value - want) <= bound).all():
            return None
        alone = expectation.walk.alone
        rule, op = ("gradients/op", expectation.walk.nodes[0].op) if alone else ("gradients/graph", None)
        diagnosis = diagnose(self.reference, call, leaf, values_of(self.tape.held), values_of(seen.gradients), alone)
        if diagnosis and self.applies(diagnosis.rule):
            rule, op = diagnosis.rule, op if diagnosis.rule == "gradients/op" else None
        if any(node.derivative for node in expectation.walk.nodes):
            rule, op = "higher/differentiable", None
        elif "writes/error-or-recorded" in expectation.exercises:
            rule, op = "writes/error-or-recorded", None
        return Violation(
            rule, at, "returned with another gradient", (("returns with the right gradient", before),), leaf, op,
            None if held is None else held.value, got.value, want, bound, diagnosis.text if diagnosis else None,
        )  # fmt: skip

    def _negligible(self, call: Backward, leaf: Ref, contribution: np.ndarray) -> bool:
        """Whether a contribution is zero but for the rounding of the reference itself."""
        return not contribution.any() or bool(
            (np.abs(contribution) <= gradient_bound(self.reference, call, leaf, self.dtype)).all()
        )

    def _bound(self, call: Backward, leaf: Ref, held: Gradient | None, want: np.ndarray) -> np.ndarray:
        bound = gradient_bound(self.reference, call, leaf, self.dtype)
        if held is not None:
            eps = np.finfo(self.dtype).eps
            bound = bound + 2 * eps * (np.abs(held.value) + np.abs(want))
        return bound

    def _stray(
        self, at: int, leaf: Ref, held: Gradient | None, got: Gradient | None, expectation: Expectation
    ) -> Violation | None:
        """A leaf that the call does not reach, whose gradient changed all the same."""
        rule = "accumulation/unreached"
        if not self.tape.requires_grad[leaf]:
            rule = "accumulation/constant"
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

    def _shared(self, at: int, seen: Seen, walk: Walk) -> Violation | None:
        owner: dict[int, Ref] = {}
        for leaf, gradient in seen.gradients.items():
            if gradient is None or gradient.identity is None or not gradient.value.size:
                continue
            other = owner.setdefault(gradient.identity, leaf)
            if other != leaf and self.applies("accumulation/own-object"):
                name = names(self.program)
                return Violation(
                    "accumulation/own-object", at, f"{name[other]} and {name[leaf]} hold the same gradient object",
                    (("each leaf holds an object of its own", "accumulation/own-object"),), leaf,
                    _meeting(walk, other, leaf),
                    partner=other,
                )  # fmt: skip
        return None

    def _cleared(self, at: int, step: ZeroGrad, seen: Seen) -> Violation | None:
        rule = "accumulation/zero-to-none" if step.set_to_none else "accumulation/zero-to-zeros"
        for leaf in self.tape.leaves:
            held, got = self.tape.held.get(leaf), seen.gradients.get(leaf)
            if leaf not in step.leaves:
                fine, due = _unchanged(held, got), "other leaves keep their gradients"
            elif step.set_to_none or held is None:
                fine, due = got is None, "the leaf holds no gradient"
            else:
                fine = got is not None and not got.value.any() and got.value.shape == held.value.shape
                due = "the leaf holds zeros"
            if not fine:
                shown = "none" if got is None else f"{got.value.tolist()}"
                return self._differs(rule, at, leaf, f"the leaf holds {shown}", due, step)
        return None

    def _after_error(
        self, at: int, step: Instruction, expectation: Expectation, raised: Raised, seen: Seen
    ) -> Violation | None:
        """What a call that raised may leave behind."""
        if not isinstance(step, Backward):
            return None
        freed = raised.kind in ON_THE_WAY
        rule = "errors/not-torn" if freed else "errors/refusal-keeps-gradients"
        for leaf in self.tape.leaves:
            held, got = self.tape.held.get(leaf), seen.gradients.get(leaf)
            if _unchanged(held, got):
                continue
            if freed and got is not None and leaf in expectation.walk.leaves:
                contribution = self.reference.pullback(step)[leaf]
                want = contribution if held is None else held.value + contribution
                if close(got.value, want, self.dtype):
                    continue
                if (np.abs(got.value - want) <= self._bound(step, leaf, held, want)).all():
                    continue
            due = "its old gradient or the complete new one" if freed else "its old gradient"
            if self.applies(rule):
                return Violation(
                    rule, at, "the failed call left another gradient", ((f"each leaf holds {due}", rule),), leaf,
                    held=None if held is None else held.value, got=None if got is None else got.value,
                )  # fmt: skip
        return None


def values_of(gradients: Mapping[Ref, Gradient | None]) -> dict[Ref, np.ndarray | None]:
    """What each leaf holds, as plain arrays."""
    return {leaf: None if gradient is None else gradient.value for leaf, gradient in gradients.items()}


def _unchanged(held: Gradient | None, got: Gradient | None) -> bool:
    if held is None or got is None:
        return held is got
    return held.value.shape == got.value.shape and np.array_equal(held.value, got.value, equal_nan=True)


def _meeting(walk: Walk, one: Ref, other: Ref) -> str | None:
    """The op in which two leaves first meet on the way to the roots."""
    reach: dict[int, set[Ref]] = {}
    for node in reversed(walk.nodes):
        reach[node.at] = {leaf for r in node.args for leaf in reach.get(r.at, {r})} & {one, other}
        if len(reach[node.at]) == 2:
            return node.op
    return None


def op_of(step: Instruction) -> str | None:
    """The op that an instruction applies, if it does."""
    return step.op if isinstance(step, Apply) else None
