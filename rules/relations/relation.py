"""Relations: two programs that have to give the same, whatever that is.

Neither program needs a reference: what one of them gives is what the other is held to. Where both do the same things in
the same order as far as an implementation can tell, they are compared bit for bit; where sums may be taken in another
order, within the bounds of both, which come from the computation itself (`reference.bounds`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from autograd_conformance.programs.language import AssignGrad, BackwardCall, Grad, Program, ReadGrad, Ref, Step
from autograd_conformance.programs.observations import Gradient, Observation, Raised, Returned, StepObservation, Tensor
from autograd_conformance.programs.text import names
from autograd_conformance.reference.bounds import EPSILON, close, working_dtype
from autograd_conformance.reference.staging.derivatives import Array
from autograd_conformance.rules.explanation.explain import shown
from autograd_conformance.rules.judge.violation import Violation
from autograd_conformance.rules.relations.comparison import Found, fired, form, last, same, share_gradients, slack, told

RETURNING = (ReadGrad, Grad, Step, AssignGrad)
"""Instructions by which gradients, and so their roundings, become values again."""


@dataclass(frozen=True, slots=True)
class Alike:
    """A gradient in both programs, held at the end or made by the functional form: the first is `factor` times the
    sum of the second's.
    """

    first: Ref
    second: tuple[Ref, ...]
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Related:
    """Two programs that a rule relates.

    `alike` are gradients that are compared at the end; `same` pairs of instructions, one of each program, that do the
    same: outcomes, values, what is held afterwards and what hooks see. `exact` says that those are the same bit for
    bit; where the program is `torn` by a call that fails, what that leaves behind is open, and nothing is compared from
    there on.
    """

    rule: str
    first: Program
    second: Program
    alike: tuple[Alike, ...] = ()
    same: tuple[tuple[int, int], ...] = ()
    exact: bool = False
    torn: bool = False


@dataclass(frozen=True, slots=True)
class Relation:
    """What two observations say of two related programs; `decided` says whether anything was compared."""

    violation: Violation | None
    decided: bool


def relate(related: Related, one: Observation, other: Observation, steady: bool = True) -> Relation:
    """Compare what was observed of two related programs. The violation is about the first of them.

    Where the framework is not `steady`, but computes other bits each time, bits are not compared.
    """
    if share_gradients(one) or share_gradients(other):
        return Relation(None, False)  # leaves that share one gradient, which a rule of its own forbids
    comparison = _Comparison(related, one, other, steady)
    violation = comparison.outcomes() or comparison.gradients()
    return Relation(violation, violation is not None or comparison.decided)


class _Comparison:
    def __init__(self, related: Related, one: Observation, other: Observation, steady: bool) -> None:
        self.related, self.one, self.other = related, one, other
        self.steady, self.exact = steady, steady and related.exact
        self.names = names(related.first), names(related.second)
        self.decided = False
        self.places = dict(related.same)

    # -- the same instructions ----------------------------------------------------------------------------------------

    def outcomes(self) -> Violation | None:
        """The first instruction that does not do the same in both programs."""
        follows = any(isinstance(step, RETURNING) for step in self.related.first)
        for at, place in self.related.same:
            mine, its = self.one[at], self.other[place]
            if _kind(mine) != _kind(its):
                text = f"{told(mine)}; the second program {told(its)} on line {place + 1}"
                return self._violation(at, text, "does the same in both programs")
            if (
                self.related.torn
                and isinstance(self.related.first[at], BackwardCall)
                and isinstance(mine.outcome, Raised)
            ):
                return None
            for ref, left, right in self._pairs(at, mine, its):
                if same(left, right):
                    self.decided = self.decided or (isinstance(left, Gradient) and bool(left.value.size))
                elif not self.steady and isinstance(left, Tensor) and form(left) == form(right):
                    return None  # from here on both compute with other numbers
                elif self.exact or not self._within(at, ref, left, right, place):
                    return self._unlike(at, ref, left, right)
                elif follows:
                    return None
        return None

    def _pairs(self, at: int, mine: StepObservation, its: StepObservation) -> Iterator[tuple[Ref, Found, Found]]:
        """What is comparable of an instruction: its values, all values after a write, what is held, what hooks saw."""
        if isinstance(mine.outcome, Returned) and isinstance(its.outcome, Returned):
            step = self.related.first[at]
            for k, (left, right) in enumerate(zip(mine.outcome.values, its.outcome.values, strict=True)):
                yield step.leaves[k] if isinstance(step, Step) else Ref(at, k), left, right
        for ref, value in mine.values.items():
            if self._twin(ref) in its.values:
                yield ref, value, its.values[self._twin(ref)]
        for ref, gradient in mine.gradients.items():
            if self._twin(ref) in its.gradients:
                yield ref, gradient, its.gradients[self._twin(ref)]
        if self.exact:
            left_hooks, right_hooks = fired(mine), fired(its)
            for hook in left_hooks:
                yield hook, left_hooks[hook], right_hooks.get(self._twin(hook))

    def _twin(self, ref: Ref) -> Ref:
        """The same value in the second program."""
        return Ref(self.places.get(ref.at, -1), ref.output)

    def _within(self, at: int, ref: Ref, left: Found, right: Found, place: int) -> bool:
        """Whether rounding explains how far two gradients are apart."""
        if left is None or right is None or form(left) != form(right):
            return False
        if not isinstance(left, Gradient) and not (ref.at == at and isinstance(self.related.first[at], Grad)):
            return False
        if close(left.value, right.value, left.dtype):
            return True
        bound = slack(self.related.first.upto(at + 1), self.one, ref)
        bound = bound + slack(self.related.second.upto(place + 1), self.other, self._twin(ref))
        return bool((np.abs(left.value - right.value) <= bound).all())

    def _unlike(self, at: int, ref: Ref, left: Found, right: Found) -> Violation:
        held = isinstance(left, Gradient) or isinstance(right, Gradient)
        what = f"the gradient of {self.names[0][ref]}" if held else self.names[0][ref]
        texts = (form(left), form(right)) if form(left) != form(right) else (shown_of(left), shown_of(right))
        text = f"{what} is {texts[0]}, but {texts[1]} in the second program"
        arrays = (None, None) if left is None or right is None else (left.value, right.value)
        return self._violation(at, text, f"{what} is the same in both programs", ref, *arrays)

    # -- gradients at the end -----------------------------------------------------------------------------------------

    def gradients(self) -> Violation | None:
        """The first gradient at the end that is not alike in both programs."""
        if not self.related.alike:
            return None
        raised = [_failed(program, seen) for program, seen in self._programs()]
        if raised.count(None) == 0:
            return None
        for which, at in enumerate(raised):
            if at is not None:
                seen = (self.one, self.other)[which][at]
                text = f"the {('first', 'second')[which]} program {told(seen)} on line {at + 1}"
                line = len(self.related.first) - 1 if which else at
                return self._violation(line, text, "both programs return")
        return next((found for found in map(self._alike, self.related.alike) if found), None)

    def _programs(self) -> tuple[tuple[Program, Observation], ...]:
        return (self.related.first, self.one), (self.related.second, self.other)

    def _alike(self, alike: Alike) -> Violation | None:
        left = last(self.related.first, self.one, alike.first)
        found = [last(self.related.second, self.other, ref) for ref in alike.second]
        parts = [part.value for part in found if part is not None]
        if not any(value.any() for value in parts) and (left is None or not left.value.any()):
            return None  # a gradient that is zero throughout may stay undefined
        self.decided = True
        total = np.sum(parts, axis=0) if parts else np.zeros_like(left.value) if left is not None else np.zeros(())
        got, want = np.zeros_like(total) if left is None else left.value, alike.factor * total
        bound = None
        if got.shape == want.shape:
            dtype = working_dtype(self.related.first)
            if close(got, want, dtype):
                return None
            bound = slack(self.related.first, self.one, alike.first) + 2 * len(parts) * EPSILON[dtype] * np.abs(want)
            for ref in alike.second:
                bound = bound + abs(alike.factor) * slack(self.related.second, self.other, ref)
            if (np.abs(got - want) <= bound).all():
                return None
        name, others = self.names[0][alike.first], [self.names[1][ref] for ref in alike.second]
        seen = f"{name} gets {shown_of(left)}; in the second program {' + '.join(others)} "
        text = seen + f"{'gets' if len(others) == 1 else 'is'} {shown(total) if parts else 'none'}"
        times = "" if alike.factor == 1 else f"{alike.factor:g} times "
        due = f"the gradient is {times}that of the second program"
        return self._violation(len(self.related.first) - 1, text, due, alike.first, got, want, bound)

    def _violation(
        self,
        at: int,
        text: str,
        due: str,
        subject: Ref | None = None,
        got: Array | None = None,
        want: Array | None = None,
        bound: Array | None = None,
    ) -> Violation:
        rule = self.related.rule
        return Violation(rule, at, text, ((due, rule),), subject, got=got, want=want, bound=bound)


def shown_of(found: Found) -> str:
    """A value or a gradient on one line."""
    return shown(None if found is None else found.value)


def _failed(program: Program, observation: Observation) -> int | None:
    """The first call that did not return."""
    calls = (at for at, step in enumerate(program) if isinstance(step, BackwardCall))
    return next((at for at in calls if not isinstance(observation[at].outcome, Returned)), None)


def _kind(seen: StepObservation) -> object:
    return seen.outcome.kind if isinstance(seen.outcome, Raised) else type(seen.outcome)
