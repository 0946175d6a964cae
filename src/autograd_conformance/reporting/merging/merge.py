"""Merges runs of one framework into one report: shards of a run, or runs with different seeds.

Memory does not grow with the number of runs, except for their seeds and for new kinds of failures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from autograd_conformance.reporting.analysis.causes import Cause
from autograd_conformance.reporting.analysis.interactions import united
from autograd_conformance.reporting.merging.compatibility import CompatibilityCheck
from autograd_conformance.reporting.merging.failures import MergedFailures
from autograd_conformance.reporting.merging.run_info import RunInfo
from autograd_conformance.reporting.merging.test_totals import TestTotal
from autograd_conformance.reporting.records.claims import ClaimRecord
from autograd_conformance.reporting.records.failure import Allowed
from autograd_conformance.reporting.records.records import (
    Behaviour,
    Coverage,
    CoverageSetting,
    Interactions,
    KnownRecord,
    Report,
    RuleRecord,
)


class MergedRuns:
    """The sum of runs that are added one by one.

    Of failures that differ only in their programs, at most `shapes` program structures are kept, those of the shortest
    programs; None: all programs.
    """

    def __init__(self, shapes: int | None = None) -> None:
        self.runs = 0
        self.failures = MergedFailures(shapes)
        self.pairs: dict[str, dict[tuple[str, bool], Counter[str]]] = {}
        """For each op, and for each pair of a dtype and whether the op was recorded: the number of programs in which
        each action (such as ``backward``) came after the op.
        """
        self._compatibility = CompatibilityCheck()
        self._run_info: RunInfo | None = None
        self._rules: tuple[RuleRecord, ...] = ()
        self._tests: dict[str, TestTotal] = {}
        self._known: dict[tuple[str, str | None, str, int], KnownRecord] = {}
        """The known differences by rule, op, reason and a number, which distinguishes entries of one run that are equal
        otherwise.
        """
        self._claims: dict[str, ClaimRecord] = {}
        self._behaviours: dict[tuple[str, tuple[Allowed, ...]], Counter[str]] = {}
        self._interactions: Interactions | None = None

    def add(self, report: Report) -> bool:
        """Adds a run. Returns True if the run has a failure that no earlier run had and that is kept.

        Raises `IncompatibleRuns`, and adds nothing, if the run cannot be added to the others.
        """
        self._compatibility.admit(report)
        header, footer = report.header, report.footer
        assert footer is not None, "a run without one is not admitted"
        self._run_info = self._run_info or RunInfo(header, footer)
        self._run_info.add(header, footer, len({result.test for result in report.results}))
        self.runs += 1
        self._rules = self._rules or report.rules
        for result in report.results:
            if result.test in self._tests:
                self._tests[result.test].add(result)
            else:
                self._tests[result.test] = TestTotal.of(result)
        self._add_known(report)
        for claim in report.claims:
            was = self._claims.get(claim.key)
            if was is None or _information(claim) > _information(was):
                self._claims[claim.key] = claim
        for coverage in report.coverage:
            settings = self.pairs.setdefault(coverage.op, {})
            for setting in coverage.met:
                settings.setdefault((setting.dtype, setting.recorded), Counter()).update(setting.actions)
        for behaviour in report.behaviours:
            choice = behaviour.instruction, behaviour.allowed
            self._behaviours.setdefault(choice, Counter()).update(behaviour.seen)
        self._interactions = united(filter(None, (self._interactions, report.interactions)))
        new = [self.failures.add(failure, header.seed) for failure in report.failures]
        return any(new)

    def _add_known(self, report: Report) -> None:
        numbers: Counter[tuple[str, str | None, str]] = Counter()
        for known in report.known:
            key = known.rule, known.op, known.reason
            place = (*key, numbers[key])
            numbers[key] += 1
            was = self._known.get(place)
            self._known[place] = (
                known if was is None else replace(was, seen=was.seen + known.seen, ended=was.ended + known.ended)
            )

    @property
    def exercised(self) -> Counter[str]:
        """For each rule, the number of programs that exercised it."""
        return sum((test.exercised for test in self._tests.values()), Counter())

    @property
    def covered(self) -> int:
        """Number of combinations of an op, a dtype, a grad mode and a later action (such as ``backward``) that occurred
        in some program.
        """
        return sum(len(actions) for settings in self.pairs.values() for actions in settings.values())

    def causes(self) -> tuple[Cause, ...]:
        """The causes of the failures, the worst first."""
        return self.failures.causes({name: test.result.rule for name, test in self._tests.items()})

    def report(self) -> Report:
        """Returns the sum of the added runs in the form of a report of one run."""
        assert self._run_info is not None, "there is no report to add up"
        results = tuple(test.whole() for test in self._tests.values())
        return Report(
            self._run_info.header,
            self._rules,
            results,
            self.failures.failures,
            self._run_info.footer(len(results), sum(each.programs for each in results)),
            tuple(self._known.values()),
            tuple(self._claims.values()),
            tuple(Coverage(op=op, met=_settings(self.pairs[op])) for op in sorted(self.pairs)),
            tuple(_behaviour(*each, self._behaviours[each]) for each in sorted(self._behaviours, key=repr)),
            self._interactions,
        )


def _information(claim: ClaimRecord) -> int:
    """Returns how much a run found out about a claim: 0 if its programs did not run, 1 if the result is unknown, 2 if
    it is decided.
    """
    return ("not run", "unknown").index(claim.observed) if claim.observed in ("not run", "unknown") else 2


def _settings(found: Mapping[tuple[str, bool], Counter[str]]) -> tuple[CoverageSetting, ...]:
    return tuple(CoverageSetting(*each, dict(sorted(found[each].items()))) for each in sorted(found))


def _behaviour(instruction: str, allowed: tuple[Allowed, ...], seen: Counter[str]) -> Behaviour:
    return Behaviour(instruction=instruction, allowed=allowed, seen=dict(sorted(seen.items())))
