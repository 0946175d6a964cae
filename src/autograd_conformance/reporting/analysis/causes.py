"""Groups the failures of a run by their cause. Reports print at most one failure of each cause in full and name the
others.

Two failures are put into one group only if the records give one of these reasons:

- One op fails in a program that has no other op. The failure names that op and has the same symptom, or disappears
without that op, and has no other diagnosis.
- A call returned although it had to raise because its graph was freed. A graph that is never freed breaks every rule
about freeing.
- They break the same rule with the same symptom: the same op, the same diagnosis, the same error.
- They break rules of one family with the same symptom, in the same program up to names and values.
- Their rule relates two programs, and one of the programs (or both) breaks another rule in the same way.

All other failures are groups of one.
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
"""The kind of error that a backward call must raise if its graph was freed."""

PER_OP_ERRORS = frozenset(
    {
        "modified in place",
        "leaf written in place",
        "view may not be written",
        "overlapping memory written",
        "view detached in place",
    }
)
"""Kinds of errors that each op checks for separately: if one op does not raise, other ops may still do so."""

VALUES = frozenset({"data", "shape", "dtype", "cotangents"})
"""Keys of a program's JSON form whose values (constants, shapes, dtypes, cotangents) are ignored when the structures of
two programs are compared.
"""

Symptom = tuple[str, Category | str]
"""A failure's verdict and category; if the category is unknown, the text of the observed outcome instead."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A group of failures that, as far as the records show, have one cause, such as one faulty op."""

    failures: tuple[Failure, ...]
    """The failure that reports print in full (the worst; among equally bad ones, the one with the shortest program),
    then the others in the order of the run.
    """
    op: str | None = None
    """The faulty op, if the cause is one op that also fails in programs without other ops."""

    @property
    def shown(self) -> Failure:
        """The failure that reports print in full."""
        return self.failures[0]

    @property
    def others(self) -> tuple[Failure, ...]:
        """The failures that reports only name."""
        return self.failures[1:]

    @property
    def severity(self) -> Severity | None:
        """Severity of the worst failure of the group; None if the records do not say."""
        return severity(min(self.failures, key=rank))


def causes(report: Report) -> tuple[Cause, ...]:
    """The causes of a run's failures. Each failure belongs to one cause.

    The worst cause comes first; equally bad causes are ordered by the number of their failures.
    """
    return causes_of(report.failures, {result.test: result.rule for result in report.results})


def causes_of(failures: tuple[Failure, ...], rules: Mapping[str, str]) -> tuple[Cause, ...]:
    """Groups failures by cause, the worst cause first; `rules` maps the id of each test to the rule that the test is
    for.
    """
    single_ops = _single_op_symptoms(failures)
    found = [_cause(members, single_ops, rules) for members in _groups(failures, single_ops)]
    return tuple(sorted(found, key=lambda cause: (min(map(rank, cause.failures)), -len(cause.failures))))


def cause_number(failure: Failure, found: Iterable[Cause]) -> int:
    """Number of a failure's cause in the list of causes, from 1."""
    return next(k for k, cause in enumerate(found, 1) if any(each is failure for each in cause.failures))


def ops(program: Mapping[str, Any]) -> frozenset[str]:
    """Returns the names of all ops in the JSON form of a program, or of a pair of related programs."""
    return frozenset(step["op"] for step in _steps(program) if isinstance(step.get("op"), str))


def _steps(form: Any) -> Iterator[Mapping[str, Any]]:
    """Yields every instruction in the JSON form of a program or of a pair of programs."""
    if isinstance(form, Mapping):
        if "do" in form:
            yield form
        for value in form.values():
            yield from _steps(value)
    elif isinstance(form, (list, tuple)):
        for value in form:
            yield from _steps(value)


def symptom_of(failure: Failure) -> Symptom:
    """Returns the symptom of a failure: the verdict, and the category of the violation or, if no category is known, the
    text of the observed outcome.
    """
    return failure.verdict, failure.deviation or failure.observed


def _single_op_symptoms(failures: Iterable[Failure]) -> dict[tuple[str, Symptom], set[str]]:
    """Finds the ops that fail in programs without other ops; maps each such op and its symptom to the rules that the op
    breaks.
    """
    found: dict[tuple[str, Symptom], set[str]] = defaultdict(set)
    for failure in failures:
        if failure.op is not None and ops(failure.program) == {failure.op}:
            found[failure.op, symptom_of(failure)].add(failure.rule)
    return dict(found)


def _responsible_op(failure: Failure, single_ops: Mapping[tuple[str, Symptom], set[str]]) -> str | None:
    """Returns the op that causes a failure, if that op has the same symptom in a program without other ops; None
    otherwise.
    """
    symptom = symptom_of(failure)
    if failure.op is not None and failure.rule in single_ops.get((failure.op, symptom), ()):
        return failure.op
    if failure.diagnosis is not None:
        return None
    tried = sorted(ops(failure.program)) if failure.verdict in ("crash", "timeout") else failure.cured
    return next((op for op in tried if (op, symptom) in single_ops), None)


def _grouping_keys(failure: Failure, single_ops: Mapping[tuple[str, Symptom], set[str]]) -> Iterator[Hashable]:
    """Yields the keys of a failure, from which groups are made: two failures that share a key have one cause."""
    symptom, deviation, op = symptom_of(failure), failure.deviation, _responsible_op(failure, single_ops)
    if op is not None:
        yield "op", op, symptom
        return
    by_parts = {_part_key(part, single_ops) for part in failure.parts}
    if len(by_parts) == 1 and None not in by_parts:  # two ways of breaking rules may have two causes
        yield from by_parts
    if deviation is not None and deviation.severity == "lost error" and deviation.error == GRAPH_FREED:
        yield "freed", failure.verdict
        return
    about = (failure.rule, failure.op, symptom)
    if failure.op is not None or failure.diagnosis is not None:
        yield "rule", *about, failure.diagnosis
    elif deviation is not None and deviation.severity == "wrong error":
        yield "raised", *about, failure.observed
    elif deviation is not None and deviation.severity == "lost error" and deviation.error not in PER_OP_ERRORS:
        yield "returned", *about
    form = structure(failure.program)
    if form:
        family = failure.rule.partition("/")[0]
        yield "program", family, failure.op, symptom, failure.diagnosis, json.dumps(form, sort_keys=True)


def _part_key(part: PartViolation, single_ops: Mapping[tuple[str, Symptom], set[str]]) -> Hashable:
    """Returns a grouping key for a rule that one of two compared programs breaks, equal to the key of a failure of that
    rule itself.

    None if neither an op nor a diagnosis is known: the cause could be anything.
    """
    symptom: Symptom = ("fail", part.deviation)
    if part.op is not None and part.rule in single_ops.get((part.op, symptom), ()):
        return "op", part.op, symptom
    return ("rule", part.rule, part.op, symptom, part.diagnosis) if part.op or part.diagnosis else None


def structure(form: Any) -> Any:
    """Returns a program's JSON form without constants, shapes and dtypes, so that programs that differ only in these
    have equal structures.
    """
    if isinstance(form, Mapping):
        return {key: structure(value) for key, value in form.items() if key not in VALUES}
    return [structure(value) for value in form] if isinstance(form, (list, tuple)) else form


def _groups(
    failures: tuple[Failure, ...], single_ops: Mapping[tuple[str, Symptom], set[str]]
) -> Iterator[tuple[Failure, ...]]:
    """Yields groups of failures that share a grouping key, directly or through other failures of the group."""
    groups: list[tuple[set[Hashable], list[int]]] = []
    for at, failure in enumerate(failures):
        keys, members = set(_grouping_keys(failure, single_ops)), [at]
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
    members: tuple[Failure, ...], single_ops: Mapping[tuple[str, Symptom], set[str]], rules: Mapping[str, str]
) -> Cause:
    """Makes a cause from its failures. The first failure is the worst one, about the faulty op itself if possible, with
    the shortest program; among equals, one that failed again in a fresh process, then one that the broken rule's own
    test found.
    """
    op = _responsible_op(members[0], single_ops)

    def first(each: Failure) -> tuple[Any, ...]:
        reproduced = each.alone is not None and each.alone.failed > 0
        in_company = op is not None and each.op != op
        return rank(each), in_company, line_count(each), not reproduced, rules.get(each.test) != each.rule

    at = min(range(len(members)), key=lambda k: first(members[k]))
    return Cause((members[at], *members[:at], *members[at + 1 :]), op)


def line_count(failure: Failure) -> int:
    """Returns the number of lines of a failure's program as reports print the program."""
    return len((failure.loop.strip() or failure.code.strip()).splitlines())
