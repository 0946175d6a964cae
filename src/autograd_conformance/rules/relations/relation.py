"""Relations: two programs that have to give the same, whatever that is.

Neither program needs a reference: what one of them gives is what the other is held to. Where both do the same things in
the same order as far as an implementation can tell, they are compared bit for bit; where sums may be taken in another
order, within the bounds of both, which come from the computation itself (`reference.rounding.bounds`). A framework that
takes instructions in functions may take any order within one: bits are compared where it ran the same functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from autograd_conformance.programs.formats.text import names
from autograd_conformance.programs.language import (
    WRITING,
    AssignGrad,
    BackwardCall,
    Grad,
    Hook,
    Program,
    ReadGrad,
    Ref,
    Step,
)
from autograd_conformance.programs.observations import (
    Gradient,
    Observation,
    Raised,
    Returned,
    StepObservation,
    Tensor,
    region_steps,
)
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.rounding.bounds import close, working_dtype
from autograd_conformance.reference.rounding.perturbation import EPSILON
from autograd_conformance.reference.staging.derivatives import Array
from autograd_conformance.rules.relations.comparison import (
    final_gradient,
    hook_arguments,
    hook_slack,
    regions_run,
    same,
    same_form,
    share_gradients,
    slack,
    value_slack,
)
from autograd_conformance.rules.violations.expected import BothReturn, Expected, Multiple, SameOutcome, SameValue
from autograd_conformance.rules.violations.observed import (
    CallFailed,
    Observed,
    ObservedValue,
    OutcomesDiffer,
    SumsDiffer,
    ValuesDiffer,
)
from autograd_conformance.rules.violations.violation import Allowed, Violation

RETURNING = (ReadGrad, Grad, Step, AssignGrad)
"""Instructions by which gradients, and so their roundings, become values again."""


@dataclass(frozen=True, slots=True)
class Alike:
    """A gradient of the first program that is a multiple of a sum of gradients of the second: held at the end, or made
    by the functional form.
    """

    first: Ref
    second: tuple[Ref, ...]
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Related:
    """Two programs that a rule relates."""

    rule: str
    first: Program
    second: Program
    alike: tuple[Alike, ...] = ()
    """Gradients that are compared at the end."""
    same: tuple[tuple[int, int], ...] = ()
    """Pairs of instructions, one of each program, that do the same: outcomes, values, gradients, and what hooks see."""
    exact: bool = False
    """Whether those are the same bit for bit, if the framework runs both in the same functions."""
    interrupted: bool = False
    """Whether calls may fail on their way: what one that failed leaves behind is open, and nothing is compared from
    there on.
    """


@dataclass(frozen=True, slots=True)
class Relation:
    """What two observations say of two related programs."""

    violation: Violation | None
    decided: bool
    """Whether anything was compared."""


def relate(related: Related, one: Observation, other: Observation, deterministic: bool = True) -> Relation:
    """Compare what was observed of two related programs. The violation is about the first of them.

    Where the framework is not `deterministic`, but computes other bits each time, bits are not compared.
    """
    if share_gradients(one) or share_gradients(other):
        return Relation(None, False)  # leaves that share one gradient, which a rule of its own forbids
    comparison = _Comparison(related, one, other, deterministic)
    violation = comparison.outcomes() or comparison.gradients()
    return Relation(violation, violation is not None or comparison.decided)


class _Comparison:
    def __init__(self, related: Related, one: Observation, other: Observation, deterministic: bool) -> None:
        self.related, self.one, self.other = related, one, other
        self.names = names(related.first), names(related.second)
        self.decided = False
        self.in_regions = bool(region_steps(one) or region_steps(other))
        self.places = dict(related.same)
        self.has_other_regions = self.in_regions and not self._runs_same_regions()
        self.deterministic, self.exact = deterministic, deterministic and related.exact and not self.has_other_regions

    def _runs_same_regions(self) -> bool:
        """Whether what is the same in both programs ran in the same functions, in the same order."""
        first = regions_run(self.related.first, self.one, self.places.keys())
        return first == regions_run(self.related.second, self.other, self.places.values())

    # -- the same instructions ----------------------------------------------------------------------------------------

    def outcomes(self) -> Violation | None:
        """The first instruction that does not do the same in both programs."""
        follows = any(isinstance(step, RETURNING) for step in self.related.first)
        for at, place in self.related.same:
            mine, its = self.one[at], self.other[place]
            if mine.region or its.region:
                continue  # what is seen behind a unit is seen behind other instructions in the other program
            if _kind(mine) != _kind(its) and self.in_regions:
                return None  # what a unit needs, and what of it is refused, depends on what else is in it
            if _kind(mine) != _kind(its):
                return self._violation(at, OutcomesDiffer(mine.outcome, its.outcome, place), SameOutcome())
            if (
                (self.related.interrupted or self.in_regions)
                and isinstance(self.related.first[at], BackwardCall)
                and isinstance(mine.outcome, Raised)
            ):
                return None
            for ref, left, right in self._pairs(at, mine, its):
                if same(left, right):
                    self.decided = self.decided or self._decides(at, left)
                elif self.in_regions and _may_be_none(left, right):
                    continue  # what gets zeros since it stands in a unit with others gets none where it stands alone
                elif not self.deterministic and isinstance(left, Tensor) and same_form(left, right):
                    return None  # from here on both compute with other numbers
                elif self.has_other_regions and self.related.exact and self._is_near(at, ref, left, right, place):
                    if follows:
                        return None
                    self.decided = self.decided or self._decides(at, left)
                elif self.exact or not self._is_within_bounds(at, ref, left, right, place):
                    return self._values_differ(at, ref, left, right)
                elif follows:
                    return None
        return None

    def _decides(self, at: int, found: ObservedValue) -> bool:
        """Whether the relation is put to the test by a number that is alike in both programs: by a gradient."""
        gradient = isinstance(found, Gradient) or isinstance(self.related.first[at], Grad)
        return gradient and found is not None and bool(found.value.size)

    def _pairs(
        self, at: int, mine: StepObservation, its: StepObservation
    ) -> Iterator[tuple[Ref, ObservedValue, ObservedValue]]:
        """All that can be compared of an instruction: results, values after a write, gradients, and what hooks saw."""
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
        if self.related.exact and self.deterministic:
            left_hooks, right_hooks = hook_arguments(mine), hook_arguments(its)
            for hook in left_hooks:
                yield hook, left_hooks[hook], right_hooks.get(self._twin(hook))

    def _twin(self, ref: Ref) -> Ref:
        """The same value in the second program."""
        return Ref(self.places.get(ref.at, -1), ref.output)

    def _is_within_bounds(self, at: int, ref: Ref, left: ObservedValue, right: ObservedValue, place: int) -> bool:
        """Whether rounding explains how far two gradients are apart."""
        if left is None or right is None or not same_form(left, right):
            return False
        if not isinstance(left, Gradient) and not (ref.at == at and isinstance(self.related.first[at], Grad)):
            return False
        if close(left.value, right.value, left.dtype):
            return True
        bound = slack(self.related.first.upto(at + 1), self.one, ref)
        bound = bound + slack(self.related.second.upto(place + 1), self.other, self._twin(ref))
        return bool((np.abs(left.value - right.value) <= bound).all())

    def _is_near(self, at: int, ref: Ref, left: ObservedValue, right: ObservedValue, place: int) -> bool:
        """Whether rounding explains how far two numbers are apart that different functions computed; as far as anybody
        can say, of a value that was written to or moved.
        """
        if left is None or right is None or not same_form(left, right):
            return False
        if close(left.value, right.value, working_dtype(self.related.first)):
            return True
        bounds = self._bounds(at, ref, left, place)
        return bounds is None or bool((np.abs(left.value - right.value) <= bounds).all())

    def _bounds(self, at: int, ref: Ref, left: ObservedValue, place: int) -> Array | None:
        """The bounds of both programs on a number, together; None where there are none."""
        first, second = self.related.first.upto(at + 1), self.related.second.upto(place + 1)
        step, twin = first[at], self._twin(ref)
        if isinstance(first[ref.at], Hook):
            return hook_slack(first, self.one, ref) + hook_slack(second, self.other, twin)
        if isinstance(left, Gradient) or (isinstance(step, Grad) and ref.at == at):
            return slack(first, self.one, ref) + slack(second, self.other, twin)
        if isinstance(step, ReadGrad) and ref.at == at:
            return slack(first, self.one, step.leaf) + slack(second, self.other, self._twin(step.leaf))
        one, two = value_slack(first, self.one, ref), value_slack(second, self.other, twin)
        return None if one is None or two is None or isinstance(step, WRITING) else one + two

    def _values_differ(self, at: int, ref: Ref, left: ObservedValue, right: ObservedValue) -> Violation:
        """The violation where a value, or the gradient that it holds, is not the same in both programs."""
        gradient = isinstance(left, Gradient) or isinstance(right, Gradient)
        name = self.names[0][ref]
        arrays = (None, None) if left is None or right is None else (left.value, right.value)
        difference, expected = ValuesDiffer(name, gradient, left, right), SameValue(name, gradient)
        return self._violation(at, difference, expected, ref, *arrays)

    # -- gradients at the end -----------------------------------------------------------------------------------------

    def gradients(self) -> Violation | None:
        """The first gradient at the end that is not alike in both programs."""
        if not self.related.alike:
            return None
        raised = [_failed(program, observed) for program, observed in self._programs()]
        if raised.count(None) == 0:
            return None
        for which, at in enumerate(raised):
            if at is not None:
                outcome = (self.one, self.other)[which][at].outcome
                line = len(self.related.first) - 1 if which else at
                return self._violation(line, CallFailed(which, at, outcome), BothReturn())
        return next((found for found in map(self._alike, self.related.alike) if found), None)

    def _programs(self) -> tuple[tuple[Program, Observation], ...]:
        return (self.related.first, self.one), (self.related.second, self.other)

    def _alike(self, alike: Alike) -> Violation | None:
        left = final_gradient(self.related.first, self.one, alike.first)
        found = [final_gradient(self.related.second, self.other, ref) for ref in alike.second]
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
        names = tuple(self.names[1][ref] for ref in alike.second)
        difference = SumsDiffer(self.names[0][alike.first], names, left, total if parts else None)
        line, expected = len(self.related.first) - 1, Multiple(alike.factor)
        return self._violation(line, difference, expected, alike.first, got, want, bound)

    def _violation(
        self,
        at: int,
        difference: Observed,
        expected: Expected,
        subject: Ref | None = None,
        got: Array | None = None,
        want: Array | None = None,
        bound: Array | None = None,
    ) -> Violation:
        rule = self.related.rule
        return Violation(rule, at, difference, (Allowed(expected, rule),), subject, got=got, want=want, bound=bound)


def _failed(program: Program, observation: Observation) -> int | None:
    """The first call that did not return."""
    calls = (at for at, step in enumerate(program) if isinstance(step, BackwardCall))
    return next((at for at in calls if not isinstance(observation[at].outcome, Returned)), None)


def _may_be_none(left: ObservedValue, right: ObservedValue) -> bool:
    """Whether one of two gradients is not there, and the other one is of zeros."""
    return (left is None) != (right is None) and not any(each.value.any() for each in (left, right) if each)


def _kind(observed: StepObservation) -> object:
    return observed.outcome.kind if isinstance(observed.outcome, Raised) else type(observed.outcome)
