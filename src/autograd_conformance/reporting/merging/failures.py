"""Failures of many runs, told apart by what they are: the shortest program of each is kept, and the others counted.

Failures are the same where a test breaks one rule about one op in one way, by the same known fault, with programs of
one shape. Shapes are without number where a program was drawn at random: of each kind of failure the shortest are kept,
and the others counted with it. Which of the failures that are kept have one cause is the business of `causes`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from autograd_conformance.reporting.analysis.causes import Cause, causes_of, line_count, structure, symptom_of
from autograd_conformance.reporting.records.failure import Failure

SHAPES = 12
"""How many shapes of programs are kept of failures that are alike but for them."""


@dataclass(frozen=True, slots=True)
class Occurrences:
    """How often failures that are alike were seen."""

    times: int = 0
    """In how many runs, each test counted."""
    first: int | None = None
    """The lowest seed that showed it."""

    def __add__(self, other: Occurrences) -> Occurrences:
        seeds = [each for each in (self.first, other.first) if each is not None]
        return Occurrences(self.times + other.times, min(seeds, default=None))


@dataclass(frozen=True, slots=True)
class _Kept:
    """The shortest program of one shape, or a program."""

    failure: Failure
    seed: int | None
    occurrences: Occurrences

    @property
    def order(self) -> tuple[int, float, str]:
        """What is kept is the least by this, in whichever order runs come in."""
        seed = float("inf") if self.seed is None else self.seed
        return line_count(self.failure), seed, program_key(self.failure)

    def joined(self, other: _Kept) -> _Kept:
        """The shorter one, with how often both were seen."""
        return replace(min(self, other, key=lambda each: each.order), occurrences=self.occurrences + other.occurrences)


class MergedFailures:
    """The failures of many runs, as they come: of each kind as many shapes as are asked for, or (None) each program."""

    def __init__(self, shapes: int | None = SHAPES) -> None:
        self._shapes = shapes
        self._kinds: dict[Hashable, dict[str, _Kept]] = {}
        self._dropped: dict[Hashable, Occurrences] = {}
        """How often failures of each kind were seen whose shape is not kept."""

    def _form(self, failure: Failure) -> str:
        """What tells failures of one kind apart."""
        program = failure.program if self._shapes is None else structure(failure.program)
        return json.dumps(program, sort_keys=True)

    def add(self, failure: Failure, seed: int | None) -> bool:
        """Count a failure; whether its like is kept that was not seen before."""
        about, form = kind(failure), self._form(failure)
        kept, new = self._kinds.setdefault(about, {}), _Kept(failure, seed, Occurrences(1, seed))
        was = kept.get(form)
        kept[form] = new if was is None else was.joined(new)
        if self._shapes is not None and len(kept) > self._shapes:
            longest = max(kept, key=lambda each: kept[each].order)
            self._dropped[about] = self._dropped.get(about, Occurrences()) + kept.pop(longest).occurrences
        return was is None and form in kept

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The failures that are kept: the same ones, in one order, whichever run came first."""
        everything = [each for kept in self._kinds.values() for each in kept.values()]
        everything.sort(key=lambda each: (each.failure.rule, each.failure.test, each.order))
        return tuple(each.failure for each in everything)

    def causes(self, rules: Mapping[str, str]) -> tuple[Cause, ...]:
        """The causes of the failures, given the rule of each test."""
        return causes_of(self.failures, rules)

    def seed(self, failure: Failure) -> int | None:
        """The seed of the run that a failure is kept of."""
        return self._kinds[kind(failure)][self._form(failure)].seed

    def occurrences(self, cause: Cause) -> Occurrences:
        """How often a cause was seen; shapes that are not kept count for each cause of their kind."""
        kept = (self._kinds[kind(each)][self._form(each)].occurrences for each in cause.failures)
        dropped = (self._dropped.get(each, Occurrences()) for each in dict.fromkeys(map(kind, cause.failures)))
        return sum((*kept, *dropped), Occurrences())


def kind(failure: Failure) -> Hashable:
    """What failures have in common that differ by their programs alone."""
    deviation = failure.deviation
    raised = failure.observed if deviation is not None and deviation.severity == "wrong error" else None
    return failure.test, failure.rule, failure.op, symptom_of(failure), failure.diagnosis, raised


def failure_key(failure: Failure) -> str:
    """A short name for all failures that are the same."""
    return _short([repr(kind(failure)), structure(failure.program)])


def program_key(failure: Failure) -> str:
    """A short name for a failure's program and the rule that it breaks."""
    return _short([failure.rule, failure.program])


def _short(form: Any) -> str:
    return hashlib.sha256(json.dumps(form, sort_keys=True).encode()).hexdigest()[:12]
