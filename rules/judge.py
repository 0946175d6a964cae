"""The judge: compares what was observed with what the rules allow, and stops at the first difference.

It walks program, observation, tape model and reference together. Its answer is data: which rule, at which
instruction, what was allowed and what was seen; `rules.explain` and the reports turn it into prose. It also counts
the rules that the program really put to the test, so that a rule nobody exercised is never called passed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from rules.catalogue import RULES, Needs
from rules.diagnosis import diagnose
from rules.graph import Expectation, Walk
from rules.language import (
    Apply,
    AssignGrad,
    Backward,
    Detach,
    Held,
    Instruction,
    Leaf,
    Program,
    Ref,
    Step,
    ZeroGrad,
)
from rules.observations import Gradient, NotRun, Observation, Raised, Returned, Seen
from rules.reference.bound import close, forward_bound, gradient_bound, working_dtype
from rules.reference.values import Reference
from rules.tape import ON_THE_WAY, Tape
from rules.text import names
from rules.verdicts import Judgement, Violation

HUGE = 1e30


def judge(program: Program, observation: Observation, reference: Reference, claims: Collection[Needs]) -> Judgement:
    """Judge one observation of one program for a framework that claims `claims`."""
    return _Judge(program, reference, frozenset(claims)).run(observation)


class _Judge:
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

    def run(self, observation: Observation) -> Judgement:
        violation = None
        for at, (step, seen) in enumerate(zip(self.program, observation, strict=False)):
            if self.stateful:
                if self.tape.memory.loses_track(step):
                    break
                self.reference.seen = _values(self.tape.held)
                self.before = dict(self.reference.values) if isinstance(step, Step) else {}
                self.reference.add(step)
            expectation = self.tape.expect(at, step)
            violation = self._instruction(at, step, expectation, seen)
            for rule in expectation.exercises:
                self.exercised[rule] = self.exercised.get(rule, 0) + 1
            if violation or isinstance(seen.outcome, NotRun):
                break
            self.tape.advance(at, step, expectation, seen)
            if isinstance(step, Step) and isinstance(seen.outcome, Returned):
                for leaf, tensor in zip(step.leaves, seen.outcome.values, strict=True):
                    self.reference.write(leaf, tensor.value.astype(np.float64))
        return Judgement(violation, self.exercised)

    def applies(self, rule: str) -> bool:
        """Whether the framework claims what a rule needs."""
        return RULES[rule].needs <= self.claims

    # -- outcomes ------------------------------------------------------------------------------------------------------

    def _instruction(self, at: int, step: Instruction, expectation: Expectation, seen: Seen) -> Violation | None:
        match seen.outcome:
            case Raised() as raised:
                if raised.kind in expectation.raises:
                    return self._after_error(at, step, expectation, raised, seen)
                return self._wrong_error(at, step, expectation, raised)
            case Returned(values):
                if expectation.returns is None:
                    binding = [rule for rule in expectation.raises.values() if self.applies(rule)]
                    if binding:
                        return Violation(binding[0], at, "returned", self.allowed(expectation), op=_op(step))
                    return None
                return self._values(at, step, expectation, values, seen)
            case _:
                return None

    def allowed(self, expectation: Expectation) -> tuple[tuple[str, str], ...]:
        """The allowed outcomes in words, each with its rule."""
        returns = [("returns", expectation.returns)] if expectation.returns else []
        return tuple(returns + [(f"raises: {kind.value}", rule) for kind, rule in expectation.raises.items()])

    def _wrong_error(self, at: int, step: Instruction, expectation: Expectation, raised: Raised) -> Violation | None:
        rule = expectation.returns or next(iter(expectation.raises.values()))
        if not self.applies(rule):
            return None
        message = raised.message.splitlines()[0] if raised.message else ""
        observed = f"raised: {raised.kind.value} ({raised.type}: {message[:160]})"
        return Violation(rule, at, observed, self.allowed(expectation), op=_op(step))

    def _values(
        self, at: int, step: Instruction, expectation: Expectation, values: tuple, seen: Seen
    ) -> Violation | None:
        match step:
            case Apply() | Leaf() | Detach() | Held():
                return self._made(at, step, values)
            case AssignGrad():
                return self._assigned(at, step, seen)
            case Step():
                return self._stepped(at, step, values, seen)
            case ZeroGrad():
                return self._cleared(at, step, seen)
            case Backward():
                return self._gradients(at, step, expectation, seen)

    # -- values --------------------------------------------------------------------------------------------------------

    def _made(self, at: int, step: Instruction, values: tuple) -> Violation | None:
        rule = "detach/values" if isinstance(step, Detach) else "gradients/forward"
        for k, tensor in enumerate(values):
            ref = Ref(at, k)
            want = self.reference.values.get(ref)
            if want is None:
                continue
            if tensor.value.shape != want.shape:
                return self._differs(
                    rule, at, ref, f"a result of shape {tensor.value.shape}", f"shape {want.shape}", step
                )
            if not close(tensor.value, want, self.dtype) and np.abs(want).max() < HUGE:
                bound = forward_bound(self.reference, ref, self.dtype)
                if not (np.abs(tensor.value - want) <= bound).all() and self.applies(rule):
                    return Violation(
                        rule, at, "returned another value", (("returns its definition's value", rule),), ref, _op(step),
                        got=tensor.value, want=want, bound=bound,
                    )  # fmt: skip
            requires = self.reference.requires_grad[ref]
            if (
                isinstance(step, Held)
                and requires
                and tensor.requires_grad is False
                and not self.reference.depends(ref)
            ):
                self.reference.requires_grad[ref] = requires = (
                    False  # the gradient is constant: it need not be recorded
                )
            about = self._history_rule(step, requires)
            if tensor.requires_grad is not None and tensor.requires_grad != requires and self.applies(about):
                words = ("requires grad", "requires no grad")
                seen, due = words if tensor.requires_grad else words[::-1]
                return self._differs(about, at, ref, f"the result {seen}", f"the result {due}", step)
        return None

    def _history_rule(self, step: Instruction, requires: bool) -> str:
        """The rule that says whether a result has a history."""
        if isinstance(step, Held):
            return "higher/differentiable" if requires else "higher/plain-raises"
        return "detach/values" if isinstance(step, Detach) else "gradients/requires-grad"

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
                    rule, at, "the leaf has another value", (("the leaf moves by the optimizer's formula", rule),), leaf,
                    got=tensor.value, want=want, bound=slack,
                )  # fmt: skip
        for leaf in self.tape.leaves:
            if not _unchanged(self.tape.held.get(leaf), seen.gradients.get(leaf)):
                return self._differs(rule, at, leaf, "the leaf's gradient changed", "gradients stay as they were", step)
        return None

    def _differs(self, rule: str, at: int, ref: Ref, seen: str, due: str, step: Instruction) -> Violation | None:
        return Violation(rule, at, seen, ((due, rule),), ref, _op(step)) if self.applies(rule) else None

    # -- gradients -----------------------------------------------------------------------------------------------------

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
        diagnosis = diagnose(self.reference, call, leaf, _values(self.tape.held), _values(seen.gradients), alone)
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


def _values(gradients: Mapping[Ref, Gradient | None]) -> dict[Ref, np.ndarray | None]:
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


def _op(step: Instruction) -> str | None:
    return step.op if isinstance(step, Apply) else None
