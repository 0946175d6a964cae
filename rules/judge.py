"""The judge: compares what was observed with what the rules allow, and stops at the first difference.

It walks program, observation, tape model and reference together. Its answer is data: which rule, at which
instruction, what was allowed and what was seen; `rules.explain` and the reports turn it into prose. It also counts
the rules that the program really put to the test, so that a rule nobody exercised is never called passed.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from rules.catalogue import Needs
from rules.graph import Expectation
from rules.holdings import HUGE, Holdings, op_of, values_of
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
from rules.observations import NotRun, Observation, Raised, Returned, Seen
from rules.reference.bound import close, forward_bound
from rules.reference.values import Reference
from rules.verdicts import Judgement, Violation


def judge(program: Program, observation: Observation, reference: Reference, claims: Collection[Needs]) -> Judgement:
    """Judge one observation of one program for a framework that claims `claims`."""
    return _Judge(program, reference, frozenset(claims)).run(observation)


class _Judge(Holdings):
    def run(self, observation: Observation) -> Judgement:
        violation = None
        for at, (step, seen) in enumerate(zip(self.program, observation, strict=False)):
            if self.stateful:
                if self.tape.memory.loses_track(step):
                    break
                self.reference.seen = values_of(self.tape.held)
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
                        return Violation(binding[0], at, "returned", self.allowed(expectation), op=op_of(step))
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
        return Violation(rule, at, observed, self.allowed(expectation), op=op_of(step))

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
                        rule, at, "returned another value", (("returns its definition's value", rule),), ref,
                        op_of(step), got=tensor.value, want=want, bound=bound,
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
