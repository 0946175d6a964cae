"""Which failures have one cause, as far as records tell: each cause is shown once, its other failures by name.

Failures are put together only for a reason that stands in the records:

- an op is wrong by itself, in a program of nothing else, and the failure blames that op for the same, or does not show
  without it, and no other fault explains what was seen;
- a call returned that had to raise because its graph is freed: what is never freed shows in every rule about freeing;
- one rule is broken in one way: about the same op, by the same known fault, with the same error;
- rules of one family are broken in one way by the same program, up to names and values;
- of two programs that a rule relates, one breaks another rule by itself in that way, or both do.

What cannot be told stays a cause of its own.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from autograd_conformance.reporting.analysis.severity import rank, severity
from autograd_conformance.reporting.records.failure import Category, Failure, PartViolation, Severity
from autograd_conformance.reporting.records.records import Report

GRAPH_FREED = "graph freed"
"""The kind of error that is due where a graph is freed."""

PER_OP_ERRORS = frozenset(
    {
        "modified in place",
        "leaf written in place",
        "view may not be written",
        "overlapping memory written",
        "view detached in place",
    }
)
"""Kinds of errors that each op has to see to by itself: one that is lost says nothing about other programs."""

VALUES = frozenset({"data", "shape", "dtype", "cotangents"})
"""The parts of a program's JSON form in which programs of one shape differ."""

Symptom = tuple[str, Category | str]
"""In which way a failure shows: its verdict, and the deviation, or else the words for it."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Failures that have one cause, as far as records can tell."""

    failures: tuple[Failure, ...]
    """The one to show first, which has the shortest program, then the others in the order of the run."""
    op: str | None = None
    """The op that is wrong by itself, where that is the cause."""

    @property
    def shown(self) -> Failure:
        """The failure that is shown whole."""
        return self.failures[0]

    @property
    def others(self) -> tuple[Failure, ...]:
        """The failures that are named."""
        return self.failures[1:]

    @property
    def severity(self) -> Severity | None:
        """How bad it is at its worst; None where the records do not say."""
        return severity(min(self.failures, key=rank))


def causes(report: Report) -> tuple[Cause, ...]:
    """The causes of a run's failures, the worst first, and of equally bad ones that of most failures; each failure is
    in one of them.
    """
    return causes_of(report.failures, {result.test: result.rule for result in report.results})


def causes_of(failures: tuple[Failure, ...], rules: Mapping[str, str]) -> tuple[Cause, ...]:
    """The causes of failures, given the rule of each test."""
    alone = _single_op_symptoms(failures)
    found = [_cause(members, alone, rules) for members in _groups(failures, alone)]
    return tuple(sorted(found, key=lambda cause: (min(map(rank, cause.failures)), -len(cause.failures))))


def cause_number(failure: Failure, found: Iterable[Cause]) -> int:
    """Which of the causes a failure has, counted from 1."""
    return next(k for k, cause in enumerate(found, 1) if any(each is failure for each in cause.failures))


def ops(program: Mapping[str, Any]) -> frozenset[str]:
    """The ops of a program in its JSON form, or of two that are related."""
    return frozenset(step["op"] for step in _steps(program) if isinstance(step.get("op"), str))


def _steps(form: Any) -> Iterator[Mapping[str, Any]]:
    """Every instruction in a program's JSON form."""
    if isinstance(form, Mapping):
        if "do" in form:
            yield form
        for value in form.values():
            yield from _steps(value)
    elif isinstance(form, (list, tuple)):
        for value in form:
            yield from _steps(value)


def symptom_of(failure: Failure) -> Symptom:
    """In which way a failure shows."""
    return failure.verdict, failure.deviation or failure.observed


def _single_op_symptoms(failures: Iterable[Failure]) -> dict[tuple[str, Symptom], set[str]]:
    """The ops that are wrong by themselves and how that shows, with the rules that they break."""
    found: dict[tuple[str, Symptom], set[str]] = defaultdict(set)
    for failure in failures:
        if failure.op is not None and ops(failure.program) == {failure.op}:
            found[failure.op, symptom_of(failure)].add(failure.rule)
    return dict(found)


def _responsible_op(failure: Failure, alone: Mapping[tuple[str, Symptom], set[str]]) -> str | None:
    """The op that is wrong by itself and is the failure's cause, if one is."""
    sign = symptom_of(failure)
    if failure.op is not None and failure.rule in alone.get((failure.op, sign), ()):
        return failure.op
    if failure.diagnosis is not None:
        return None
    tried = sorted(ops(failure.program)) if failure.verdict in ("crash", "timeout") else failure.cured
    return next((op for op in tried if (op, sign) in alone), None)


def _grouping_keys(failure: Failure, alone: Mapping[tuple[str, Symptom], set[str]]) -> Iterator[Hashable]:
    """What failures of one cause have in common: any of these."""
    sign, deviation, op = symptom_of(failure), failure.deviation, _responsible_op(failure, alone)
    if op is not None:
        yield "op", op, sign
        return
    by_parts = {_part_key(part, alone) for part in failure.parts}
    if len(by_parts) == 1 and None not in by_parts:  # what both break in two ways may have two causes
        yield from by_parts
    if deviation is not None and deviation.severity == "lost error" and deviation.error == GRAPH_FREED:
        yield "freed", failure.verdict
        return
    about = (failure.rule, failure.op, sign)
    if failure.op is not None or failure.diagnosis is not None:
        yield "rule", *about, failure.diagnosis
    elif deviation is not None and deviation.severity == "wrong error":
        yield "raised", *about, failure.observed
    elif deviation is not None and deviation.severity == "lost error" and deviation.error not in PER_OP_ERRORS:
        yield "returned", *about
    form = structure(failure.program)
    if form:
        family = failure.rule.partition("/")[0]
        yield "program", family, failure.op, sign, failure.diagnosis, json.dumps(form, sort_keys=True)


def _part_key(part: PartViolation, alone: Mapping[tuple[str, Symptom], set[str]]) -> Hashable:
    """What a program of two breaks by itself, as the failures have it that break the same in that way; None where that
    could be anything.
    """
    sign: Symptom = ("fail", part.deviation)
    if part.op is not None and part.rule in alone.get((part.op, sign), ()):
        return "op", part.op, sign
    return ("rule", part.rule, part.op, sign, part.diagnosis) if part.op or part.diagnosis else None


def structure(form: Any) -> Any:
    """A program's JSON form without names and values; values are referred to by their place."""
    if isinstance(form, Mapping):
        return {key: structure(value) for key, value in form.items() if key not in VALUES}
    return [structure(value) for value in form] if isinstance(form, (list, tuple)) else form


def _groups(
    failures: tuple[Failure, ...], alone: Mapping[tuple[str, Symptom], set[str]]
) -> Iterator[tuple[Failure, ...]]:
    """The failures that have a key in common, or are joined by others that have."""
    groups: list[tuple[set[Hashable], list[int]]] = []
    for at, failure in enumerate(failures):
        keys, members = set(_grouping_keys(failure, alone)), [at]
        apart = []
        for group in groups:
            if keys & group[0]:
                keys |= group[0]
                members += group[1]
            else:
                apart.append(group)
        groups = [*apart, (keys, members)]
    for _, members in groups:
        yield tuple(failures[at] for at in sorted(members))


def _cause(
    members: tuple[Failure, ...], alone: Mapping[tuple[str, Symptom], set[str]], rules: Mapping[str, str]
) -> Cause:
    """The cause of some failures; of programs of one length, one is shown that was run again alone and failed, and then
    that of the rule's own test.
    """
    op = _responsible_op(members[0], alone)

    def first(each: Failure) -> tuple[Any, ...]:
        reproduced = each.alone is not None and each.alone.failed > 0
        in_company = op is not None and each.op != op
        return rank(each), in_company, line_count(each), not reproduced, rules.get(each.test) != each.rule

    at = min(range(len(members)), key=lambda k: first(members[k]))
    return Cause((members[at], *members[:at], *members[at + 1 :]), op)


def line_count(failure: Failure) -> int:
    """How many lines the program has as it is shown."""
    return len((failure.loop.strip() or failure.code.strip()).splitlines())
