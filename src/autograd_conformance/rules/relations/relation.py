"""Relations: two programs that must give the same results, whatever the right results are.

Neither program needs a reference: each is the standard for the other. Results are compared bit for bit if an
implementation cannot distinguish the two computations. If sums may be taken in another order, the results are compared
within the bounds of both programs, which follow from the computation (`reference.rounding.bounds`). A framework that
compiles or recomputes several instructions as one function, a region, may reorder sums within the region; bits are then
compared only where both programs ran the same regions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from autograd_conformance.programs.dtypes import COARSE, DTYPES
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
from autograd_conformance.programs.slugs import Slug
from autograd_conformance.reference.rounding.bounds import close, working_dtype
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
from autograd_conformance.rules.violations.behaviour import Expected, Observed
from autograd_conformance.rules.violations.pairs import (
    BothReturn,
    CallFailed,
    Multiple,
    ObservedValue,
    OutcomesDiffer,
    SameOutcome,
    SameValue,
    SumsDiffer,
    ValuesDiffer,
)
from autograd_conformance.rules.violations.violation import Allowed, Violation

RETURNING = (ReadGrad, Grad, Step, AssignGrad)
"""Instructions that turn gradients, and therefore the rounding of gradients, into values."""


@dataclass(frozen=True, slots=True)
class Alike:
    """A requirement: a gradient of the first program, held at the end or returned by the functional form, must be
    `factor` times a sum of gradients of the second program.
    """

    first: Ref
    second: tuple[Ref, ...]
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Related:
    """Two programs that must give the same results by a rule, with the results to compare."""

    rule: Slug
    first: Program
    second: Program
    alike: tuple[Alike, ...] = ()
    """The requirements on gradients that are checked at the end of both programs."""
    same: tuple[tuple[int, int], ...] = ()
    """Pairs of instructions, one of each program, that must have the same outcomes, values, gradients and arguments of
    hooks.
    """
    exact: bool = False
    """Whether the results of the instructions in `same` must be equal bit for bit, if the framework compiles or
    recomputes the same groups of instructions in both programs.
    """
    interrupted: bool = False
    """Whether backward calls may fail during their traversal. The effects of such a call are unspecified, and nothing
    after the call is compared.
    """


@dataclass(frozen=True, slots=True)
class Relation:
    """The result of comparing the observations of two related programs."""

    violation: Violation | None
    decided: bool
    """Whether the comparison could have found a violation: it compared a gradient that has elements, or it found a
    violation.
    """


def relate(related: Related, one: Observation, other: Observation, deterministic: bool = True) -> Relation:
    """Compares the observations of two related programs. The violation names an instruction of the first program.

    If the framework is not `deterministic`, so that it computes other bits each time, bits are not compared.
    """
    if share_gradients(one) or share_gradients(other):
        return Relation(None, False)  # leaves that share one gradient, which another rule forbids
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
        """Whether the paired instructions ran in the same regions (compiled or checkpointed functions), in the same
        order, in both programs.
        """
        first = regions_run(self.related.first, self.one, self.places.keys())
        return first == regions_run(self.related.second, self.other, self.places.values())

    # -- the same instructions ----------------------------------------------------------------------------------------

    def outcomes(self) -> Violation | None:
        """Returns the violation at the first pair of instructions whose outcomes or results differ by more than the
        relation allows; None if there is none before the point from which the programs can no longer be compared.
        """
        follows = any(isinstance(step, RETURNING) for step in self.related.first)
        for at, place in self.related.same:
            mine, its = self.one[at], self.other[place]
            if mine.region or its.region:
                continue  # the other program may observe these values after other instructions
            if _kind(mine) != _kind(its) and self.in_regions:
                return None  # inputs and errors of a region depend on its other instructions
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
                    continue  # zeros, because it shares a region with others; none outside one
                elif not self.deterministic and isinstance(left, Tensor) and same_form(left, right):
                    return None  # from here on, the programs compute with different numbers
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
        """Whether an equal value counts as a test of the relation: only a gradient that has elements does."""
        gradient = isinstance(found, Gradient) or isinstance(self.related.first[at], Grad)
        return gradient and found is not None and bool(found.value.size)

    def _pairs(
        self, at: int, mine: StepObservation, its: StepObservation
    ) -> Iterator[tuple[Ref, ObservedValue, ObservedValue]]:
        """Yields each result, value after a write, gradient and argument of a hook that was observed at an instruction,
        with what the second program shows for it.
        """
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
        """Returns the value of the second program that corresponds to a value of the first."""
        return Ref(self.places.get(ref.at, -1), ref.output)

    def _is_within_bounds(self, at: int, ref: Ref, left: ObservedValue, right: ObservedValue, place: int) -> bool:
        """Whether rounding explains the difference between two gradients; False for all other values."""
        if left is None or right is None or not same_form(left, right):
            return False
        if not isinstance(left, Gradient) and not (ref.at == at and isinstance(self.related.first[at], Grad)):
            return False
        if close(left.value, right.value, left.dtype) or _leaves_range(left.dtype, left.value, right.value):
            return True
        bound = slack(self.related.first.upto(at + 1), self.one, ref)
        bound = bound + slack(self.related.second.upto(place + 1), self.other, self._twin(ref))
        return bool((np.abs(left.value - right.value) <= bound).all())

    def _is_near(self, at: int, ref: Ref, left: ObservedValue, right: ObservedValue, place: int) -> bool:
        """Whether rounding may explain the difference between two numbers that were computed in different regions
        (compiled or checkpointed functions). True if no bound is known, as for a value that was written to or moved.
        """
        if left is None or right is None or not same_form(left, right):
            return False
        if close(left.value, right.value, working_dtype(self.related.first)):
            return True
        bounds = self._bounds(at, ref, left, place)
        return bounds is None or bool((np.abs(left.value - right.value) <= bounds).all())

    def _bounds(self, at: int, ref: Ref, left: ObservedValue, place: int) -> Array | None:
        """Returns the sum of both programs' rounding bounds for a value, a gradient or a hook's argument; None if one
        of the programs has no bound.
        """
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
        """Returns the violation for a value, or the gradient that it holds, that differs between the programs."""
        gradient = isinstance(left, Gradient) or isinstance(right, Gradient)
        name = self.names[0][ref]
        arrays = (None, None) if left is None or right is None else (left.value, right.value)
        difference, expected = ValuesDiffer(name, gradient, left, right), SameValue(name, gradient)
        return self._violation(at, difference, expected, ref, *arrays)

    # -- gradients at the end -----------------------------------------------------------------------------------------

    def gradients(self) -> Violation | None:
        """Returns the violation at the first gradient that breaks a requirement at the end of both programs, or at a
        call that failed in only one of the programs.
        """
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
            if close(got, want, dtype) or _leaves_range(dtype, got, want):
                return None
            sums = 2 * len(parts) * DTYPES[dtype].epsilon * np.abs(want)
            bound = slack(self.related.first, self.one, alike.first) + sums
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
    """Returns the number of the first backward call that did not return; None if all returned."""
    calls = (at for at, step in enumerate(program) if isinstance(step, BackwardCall))
    return next((at for at in calls if not isinstance(observation[at].outcome, Returned)), None)


def _may_be_none(left: ObservedValue, right: ObservedValue) -> bool:
    """Whether one of two gradients is None and the other is zero."""
    return (left is None) != (right is None) and not any(each.value.any() for each in (left, right) if each)


def _kind(observed: StepObservation) -> object:
    return observed.outcome.kind if isinstance(observed.outcome, Raised) else type(observed.outcome)


def _leaves_range(dtype: str, one: Array, other: Array) -> bool:
    """Whether one of two gradients, in a dtype of few digits, has an element that is infinite or NaN: programs that
    must agree may leave the dtype's range at different places.
    """
    return dtype in COARSE and not (np.isfinite(one).all() and np.isfinite(other).all())
