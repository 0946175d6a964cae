"""Failures of many runs, merged: equal failures are counted, and only the shortest program of each is kept.

Two failures are equal if they have the same test, rule, op, symptom and diagnosis, and programs of the same structure.
Random programs have too many structures: of each kind of failure only the 12 with the shortest programs are kept,
unless the caller sets another limit or none, and the others are counted. `reporting.analysis.causes` groups the kept
failures by cause.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from autograd_conformance.reporting.analysis.causes import Cause, causes_of, line_count
from autograd_conformance.reporting.analysis.program_forms import structure
from autograd_conformance.reporting.analysis.signature_keys import symptom_of
from autograd_conformance.reporting.records.failure import Failure

SHAPES = 12
"""Maximum number of failures, those with the shortest programs, that are kept for each kind (same test, rule, op,
symptom and diagnosis), each with a program of another structure.
"""


@dataclass(frozen=True, slots=True)
class Occurrences:
    """How often equal failures occurred, and the lowest seed of a run with one."""

    times: int = 0
    """Number of times that a run reported the failure."""
    first: int | None = None
    """Lowest seed of a run with the failure; None if no run had a single seed."""

    def __add__(self, other: Occurrences) -> Occurrences:
        seeds = [each for each in (self.first, other.first) if each is not None]
        return Occurrences(self.times + other.times, min(seeds, default=None))


@dataclass(frozen=True, slots=True)
class _Kept:
    """A failure that is kept: of all equal failures, the one with the shortest program."""

    failure: Failure
    seed: int | None
    occurrences: Occurrences

    @property
    def order(self) -> tuple[int, float, str]:
        """Sort key of failures (length of the program, seed, hash); of equal failures the least is kept, so that the
        order of the runs does not matter.
        """
        seed = float("inf") if self.seed is None else self.seed
        return line_count(self.failure), seed, program_key(self.failure)

    def joined(self, other: _Kept) -> _Kept:
        """Returns the one of two equal failures that comes first in `order`, with the occurrences of both."""
        return replace(min(self, other, key=lambda each: each.order), occurrences=self.occurrences + other.occurrences)


class MergedFailures:
    """The merged failures of runs that are added one by one.

    For each kind of failure at most `shapes` structures of programs are kept, those of the shortest programs; None:
    every program is kept.
    """

    def __init__(self, shapes: int | None = SHAPES) -> None:
        self._shapes = shapes
        self._kinds: dict[Hashable, dict[str, _Kept]] = {}
        self._dropped: dict[Hashable, Occurrences] = {}
        """For each kind of failure, the occurrences of those failures whose program structure was not kept."""

    def _form(self, failure: Failure) -> str:
        """Returns a key that distinguishes failures of one kind: the program as JSON text, or only the program's
        structure.
        """
        program = failure.program if self._shapes is None else structure(failure.program)
        return json.dumps(program, sort_keys=True)

    def add(self, failure: Failure, seed: int | None) -> bool:
        """Counts a failure of a run with this seed. Returns True if the failure is kept and no equal one was added
        before.
        """
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
        """The kept failures. Neither they nor their order depend on the order of the runs."""
        everything = [each for kept in self._kinds.values() for each in kept.values()]
        everything.sort(key=lambda each: (each.failure.rule, each.failure.test, each.order))
        return tuple(each.failure for each in everything)

    def causes(self, rules: Mapping[str, str]) -> tuple[Cause, ...]:
        """The causes of the kept failures; `rules` has the rule of each test."""
        return causes_of(self.failures, rules)

    def seed(self, failure: Failure) -> int | None:
        """Seed of the run that a kept failure is from."""
        return self._kinds[kind(failure)][self._form(failure)].seed

    def occurrences(self, cause: Cause) -> Occurrences:
        """Returns how often the failures of a cause occurred, and the lowest seed. Failures that were not kept count
        for every cause that has a failure of their kind.
        """
        kept = (self._kinds[kind(each)][self._form(each)].occurrences for each in cause.failures)
        dropped = (self._dropped.get(each, Occurrences()) for each in dict.fromkeys(map(kind, cause.failures)))
        return sum((*kept, *dropped), Occurrences())


def kind(failure: Failure) -> Hashable:
    """Returns a key that is equal for failures that differ only in their programs: test, rule, op, symptom, diagnosis,
    and the error if another one than expected was raised.
    """
    deviation = failure.deviation
    raised = failure.observed if deviation is not None and deviation.severity == "wrong error" else None
    return failure.test, failure.rule, failure.op, symptom_of(failure), failure.diagnosis, raised


def failure_key(failure: Failure) -> str:
    """Returns a hash of 12 hexadecimal digits, the same for failures that differ only in the constants, shapes and
    dtypes of their programs.
    """
    return _short([repr(kind(failure)), structure(failure.program)])


def program_key(failure: Failure) -> str:
    """Returns a hash of 12 hexadecimal digits of a failure's rule and program."""
    return _short([failure.rule, failure.program])


def _short(form: Any) -> str:
    return hashlib.sha256(json.dumps(form, sort_keys=True).encode()).hexdigest()[:12]
