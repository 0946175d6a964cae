"""Groups the failures of a run by their cause, over ops, rules and tests. Reports print at most one failure of each
cause in full and the others by name.

Two failures are put into one group only if the records give one of these reasons:

- They have the same signature, and the signature is general: the same shape in place of another, the same error with
the same message, NaN at operands of 0, the same missing error, the same flag or memory under one rule.
- They have the same meaning, whatever the messages are: an operand without a batch or without elements, a number of
Python in place of a tensor, indices that are no integers, a reduced dimension that the derivative does not restore, a
gradient that is not summed over a broadcast dimension, a write that changes nothing, float64 numbers that are as exact
as in float32.
- They move leaves to wrong places by one optimizer, whose formula is wrong without other settings. Or they break a rule
about what optimizers do whatever their formula is, in the same program but for the optimizer.
- Their gradients are wrong through one op, or several forms of one function: the program has no other op, or passes
without that op only. A failure that was only counted, in a program of several ops, may name the op of its test.
- Their numbers are wrong through an op that is right alone, beside a view whose elements are not in the order of memory
(a transposed or strided one), and at least three ops are so: these read such a tensor as if it were contiguous.
- They differentiate with values that a step of an optimizer, or a write in place, replaced unnoticed; or they refuse,
with one kind of error, what nothing needs; or they lose digits in an op's tails. At least three ops do so in programs
without other ops. Likewise, at least three ops in place return where they have to raise one kind of error. An op whose
gradient is wrong without a write as well explains its failures.
- Their gradients are wrong under one rule, in programs with the same two or three ops.
- They break one rule with the same diagnosis.
- One op fails in a program that has no other op. The failure names that op and has the same symptom, or disappears
without that op, or has no other op. If it has another diagnosis, it has to have no other op. An error that the op
raises for all operands is not one of operands without a batch or without elements.
- A call returned although it had to raise because its graph was freed. A graph that is never freed breaks every rule
about freeing.
- They break the same rule with the same symptom: the same op, the same diagnosis, the same error.
- They did not come back, no op is to blame, and their programs have the same kinds of instructions beside ops and
calls.
- They break rules of one family with the same symptom, in the same program up to names and values.
- Their rule relates two programs, and one of the programs (or both) breaks another rule in the same way; or one of
the programs fails alone, which is a failure with a record.

All other failures are groups of one. Wrong numbers of different functions are never put together, unless they are NaN
at operands of 0, are those before a write, are as exact as in float32 or have one diagnosis. Records without
signatures, of older versions, are grouped by the other reasons.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from autograd_conformance.reporting.analysis.grouping import (
    FaultyOps,
    faulty_ops,
    grouping_keys,
    is_of_steps,
    responsible_op,
    wrong_formula,
)
from autograd_conformance.reporting.analysis.severity import Heading, rank, severity
from autograd_conformance.reporting.analysis.views import op_wrong_on_view, ops_wrong_on_views
from autograd_conformance.reporting.analysis.widespread import is_unnoticed, widespread_kind, widespread_kinds
from autograd_conformance.reporting.records.failure import Failure
from autograd_conformance.reporting.records.records import Report


@dataclass(frozen=True, slots=True)
class Cause:
    """A group of failures that, as far as the records show, have one cause, such as one faulty op."""

    failures: tuple[Failure, ...]
    """The failure that reports print in full (the worst; among equally bad ones, the one with the shortest program),
    then the others in the order of the run.
    """
    op: str | None = None
    """The faulty op, if the cause is one op that also fails in programs without other ops."""
    wrong_on_views: tuple[str, ...] = ()
    """The ops that are wrong only where a tensor's elements are not in the order of memory, if that is the cause."""

    @property
    def shown(self) -> Failure:
        """The failure that reports print in full."""
        return self.failures[0]

    @property
    def ops(self) -> tuple[str, ...]:
        """The ops that the failures are about, in the order of the failures."""
        return self.wrong_on_views or tuple(dict.fromkeys(each.op for each in self.failures if each.op is not None))

    @property
    def others(self) -> tuple[Failure, ...]:
        """The failures that reports only name."""
        return self.failures[1:]

    @property
    def severity(self) -> Heading | None:
        """Severity of the worst failure of the group; None if the records do not say."""
        return severity(self.worst)

    @property
    def worst(self) -> Failure:
        """The worst failure of the group: of those that are equally severe, the one with the fewest right digits. A
        failure of two related programs, one of which fails alone, says less than that one.
        """
        return min([each for each in self.failures if not each.parts] or self.failures, key=rank)


def causes(report: Report) -> tuple[Cause, ...]:
    """The causes of a run's failures. Each failure belongs to one cause.

    The worst cause comes first; equally bad causes are ordered by the number of their failures.
    """
    return causes_of(report.failures, {result.test: result.rule for result in report.results})


def causes_of(failures: tuple[Failure, ...], rules: Mapping[str, str]) -> tuple[Cause, ...]:
    """Groups failures by cause, the worst cause first; `rules` maps the id of each test to the rule that the test is
    for.
    """
    faulty = faulty_ops(failures)
    on_views, widespread = ops_wrong_on_views(failures, faulty), widespread_kinds(failures)
    found = [_cause(members, faulty, rules, on_views) for members in _groups(failures, faulty, on_views, widespread)]
    return tuple(sorted(found, key=lambda cause: (min(map(rank, cause.failures)), -len(cause.failures))))


def cause_number(failure: Failure, found: Iterable[Cause]) -> int:
    """Number of a failure's cause in the list of causes, from 1."""
    return next(k for k, cause in enumerate(found, 1) if any(each is failure for each in cause.failures))


def _groups(
    failures: tuple[Failure, ...], faulty: FaultyOps, on_views: Collection[str], widespread: Collection[Hashable]
) -> Iterator[tuple[Failure, ...]]:
    """Yields groups of failures that share a grouping key, directly or through other failures of the group. Those of
    the ops that are wrong on views only are one group, and those of each kind that several ops show.
    """
    groups: list[tuple[set[Hashable], list[int]]] = []
    for at, failure in enumerate(failures):
        keys, members = set(grouping_keys(failure, faulty)), [at]
        if op_wrong_on_view(failure, faulty) in on_views:
            keys.add("views")
        kind = widespread_kind(failure)
        formula = wrong_formula(failure, faulty) if is_unnoticed(kind) else None
        if formula is not None:
            keys.add(formula)
        elif kind in widespread:
            keys = {each for each in keys if not is_of_steps(each)}  # what one optimizer does wrong, no other need do
            keys.add(("widespread", kind))
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
    members: tuple[Failure, ...], faulty: FaultyOps, rules: Mapping[str, str], on_views: Collection[str]
) -> Cause:
    """Makes a cause from its failures. The first failure is the worst one, about one program and about the faulty op
    itself if possible, one that was explained, with the fewest right digits and the shortest program; among equals, one
    that failed again in a fresh process, then one that the broken rule's own test found.
    """
    named = {responsible_op(each, faulty) for each in members} - {None}
    op = named.pop() if len(named) == 1 and {each.op for each in members} <= named | {None} else None

    def first(each: Failure) -> tuple[Any, ...]:
        *damage, digits = rank(each)
        reproduced = each.alone is not None and each.alone.failed > 0
        in_company = op is not None and each.op != op
        own = rules.get(each.test) == each.rule
        return bool(each.parts), *damage, in_company, each.counted, digits, line_count(each), not reproduced, not own

    at = min(range(len(members)), key=lambda k: first(members[k]))
    views = dict.fromkeys(op_wrong_on_view(each, faulty) for each in members)
    on_view = tuple(each for each in views if each is not None and each in on_views)
    return Cause((members[at], *members[:at], *members[at + 1 :]), op, on_view)


def line_count(failure: Failure) -> int:
    """Returns the number of lines of a failure's program as reports print the program."""
    return len((failure.loop.strip() or failure.code.strip()).splitlines())
