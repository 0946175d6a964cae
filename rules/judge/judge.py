"""The judge: compares what was observed with what the rules allow, and stops at the first difference.

It walks program, observation, tape model and reference together. Its answer is data: which rule, at which
instruction, what was allowed and what was seen; `rules.explanation.explain` and the reports turn it into prose. It
also counts the rules that the program really put to the test, so that a rule nobody exercised is never called passed.
"""

from __future__ import annotations

from collections.abc import Collection

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import (
    WRITING,
    Apply,
    AssignGrad,
    Backward,
    Clip,
    Detach,
    DetachInPlace,
    Grad,
    Hook,
    InPlace,
    Instruction,
    Leaf,
    Optimizer,
    Program,
    ReadGrad,
    RemoveHook,
    RetainGrad,
    SetRequiresGrad,
    Step,
    ZeroGrad,
)
from autograd_conformance.programs.observations import Observation, Raised, Returned, Skipped, StepObservation
from autograd_conformance.reference.observed import adopt, enter, in_domain, leave_out
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.catalogue import RULES, Level
from autograd_conformance.rules.judge.hooks import Watching
from autograd_conformance.rules.judge.optimizers import Stepping
from autograd_conformance.rules.judge.saved_tensors import Keeping
from autograd_conformance.rules.judge.unchanged import Staying
from autograd_conformance.rules.judge.values import Making
from autograd_conformance.rules.judge.violation import Judgement, Violation, op_of
from autograd_conformance.rules.tape.graph import Expectation


def judge(
    program: Program, observation: Observation, reference: Reference, claims: Collection[Capability]
) -> Judgement:
    """Judge one observation of one program for a framework that claims `claims`."""
    return _Judge(program, reference, frozenset(claims)).run(observation)


class _Judge(Making, Stepping, Watching, Staying):
    def run(self, observation: Observation) -> Judgement:
        violation, keeping = None, Keeping(self.tape, self.claims, self.exercised)
        for at, (step, seen) in enumerate(zip(self.program, observation, strict=False)):
            if isinstance(seen.outcome, Skipped) and not self.stateful:
                break
            if isinstance(seen.outcome, Skipped):
                self.reference.skip(step)  # it needed a value that an earlier error kept from being made
                continue
            modes = self.program.mode(at)
            if self.stateful and self.loses_track(step):
                break
            expectation = self.tape.expect(at, step, modes)
            unclear = expectation.unspecified and isinstance(seen.outcome, Returned)
            left_open = [rule for rule in expectation.raises.values() if RULES[rule].level is Level.INFO]
            for rule in dict.fromkeys((*(() if unclear else expectation.exercises), *left_open)):
                self.exercised[rule] = self.exercised.get(rule, 0) + 1
            if unclear:
                self.lost = True
                break
            violation = self._instruction(at, step, expectation, seen) or keeping.check(at, step, expectation, seen)
            if violation:
                break
            self.tape.advance(at, step, expectation, seen, modes)
        return Judgement(violation, self.exercised, self.lost)

    def loses_track(self, step: Instruction) -> bool:
        """Whether an instruction uses something of which the rules leave open what it is."""
        self.lost = self.lost or self.reference.unspecified or self.reference.storages.uses_unspecified(step)
        return self.lost

    # -- outcomes ------------------------------------------------------------------------------------------------------

    def _instruction(
        self, at: int, step: Instruction, expectation: Expectation, seen: StepObservation
    ) -> Violation | None:
        match seen.outcome:
            case Raised() as raised:
                if raised.kind not in expectation.raises and self.stateful and not in_domain(self.reference, step):
                    self.lost = True  # nobody says what an op does there
                    return None
                if raised.kind not in expectation.raises:
                    return self._wrong_error(at, step, expectation, raised)
                violation = self._after_error(at, step, expectation, raised, seen)
                if self.stateful:
                    leave_out(self.reference, at, step, seen)
                return violation
            case Returned():
                if expectation.returns is None:
                    binding = [rule for rule in expectation.raises.values() if self.applies(rule)]
                    if binding:
                        return Violation(binding[0], at, "returned", self.allowed(expectation), op=op_of(step))
                    self.lost = True  # what it should have refused, it does not claim to
                    return None
                return self._returned(at, step, expectation, seen)
            case _:
                return None

    def allowed(self, expectation: Expectation) -> tuple[tuple[str, str], ...]:
        """The allowed outcomes in words, each with its rule."""
        returns = [("returns", expectation.returns)] if expectation.returns else []
        return tuple(returns + [(f"raises: {kind.value}", rule) for kind, rule in expectation.raises.items()])

    def _wrong_error(self, at: int, step: Instruction, expectation: Expectation, raised: Raised) -> Violation | None:
        rule = expectation.returns or next(iter(expectation.raises.values()))
        if not self.applies(rule):
            self.lost = True
            return None
        message = raised.message.splitlines()[0] if raised.message else ""
        observed = f"raised: {raised.kind.value} ({raised.type}: {message[:160]})"
        return Violation(rule, at, observed, self.allowed(expectation), op=op_of(step))

    def _returned(
        self, at: int, step: Instruction, expectation: Expectation, seen: StepObservation
    ) -> Violation | None:
        violation = None
        if isinstance(step, (Backward, Grad)):
            violation = self._hooks(at, step, expectation, seen)
        if isinstance(step, Backward) and not violation:
            violation = self._gradients(at, step, expectation, seen)
        if self.stateful and not violation:
            self.before = dict(self.reference.values) if isinstance(step, WRITING) else {}
            enter(self.reference, at, step, self.program.mode(at), seen)
            if self.reference.unspecified:
                return None  # what this made is not known
        if not violation:
            violation = self._values(at, step, expectation, seen)
        if self.stateful and not violation:
            adopt(self.reference, at, step, seen)
        return violation

    def _values(self, at: int, step: Instruction, expectation: Expectation, seen: StepObservation) -> Violation | None:
        assert isinstance(seen.outcome, Returned)
        match step:
            case Apply() | Leaf() | Detach() | ReadGrad():
                return self._made(at, step, seen.outcome.values)
            case Grad():
                return self._functional(at, step, expectation, seen)
            case AssignGrad():
                return self._assigned(at, step, seen)
            case Step():
                return self._stepped(at, step, seen.outcome.values, seen) or self._others(at, step, seen)
            case Clip():
                return self._clipped(at, step, seen)
            case InPlace():
                return self._written(at, step, seen)
            case ZeroGrad():
                return self._cleared(at, step, seen)
            case DetachInPlace():
                return self._kept_all(at, step, seen) or self._cut_off(at, step, seen)
            case SetRequiresGrad() | RetainGrad() | Hook() | RemoveHook() | Optimizer():
                return self._kept_all(at, step, seen)
            case _:
                return None
