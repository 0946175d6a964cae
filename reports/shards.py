"""Many runs as one: the reports of one framework, each of another seed or other suites, added up.

Only what is alike is added up: the framework and its version, the device, the dtypes and the suite's version. A test's
verdict is the worst that any run came to; that its time ended in one of them says nothing once others went on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from autograd_conformance.reports.causes import Cause
from autograd_conformance.reports.claims import ClaimRecord
from autograd_conformance.reports.findings import Findings
from autograd_conformance.reports.records import (
    WRONG,
    Coverage,
    Footer,
    Header,
    Known,
    Outcome,
    Report,
    Result,
    RuleRecord,
    Setting,
)

ORDER: tuple[Outcome, ...] = (*WRONG, "error", "known difference", "pass", "cut short", "not applicable")
"""The outcomes of a test: of several runs the first of these is the test's."""


Kind = tuple[Hashable, ...]
"""What reports have in common that can be added up."""


def kind(header: Header) -> Kind:
    """The kind of a report."""
    return header.framework.name, header.framework.version, header.device, header.dtypes, header.suite, header.strict


@dataclass(slots=True)
class _Test:
    """What all runs came to in one test."""

    result: Result
    exercised: Counter[str] = field(default_factory=Counter)

    def add(self, other: Result) -> None:
        """Add a run's."""
        mine = self.result
        worst = min(mine, other, key=lambda each: ORDER.index(each.verdict))
        self.exercised.update(other.exercised)
        self.result = replace(
            mine,
            verdict=worst.verdict,
            reason=worst.reason,
            programs=mine.programs + other.programs,
            left_open=mine.left_open + other.left_open,
            instructions=mine.instructions + other.instructions,
            judged=mine.judged + other.judged,
            seconds=mine.seconds + other.seconds,
        )

    def whole(self) -> Result:
        """The sum; what was cut short in every run is a pass as far as all of them went."""
        verdict: Outcome = (
            "pass" if self.result.verdict == "cut short" and self.result.programs else self.result.verdict
        )
        reason = None if verdict == "pass" else self.result.reason
        return replace(
            self.result,
            verdict=verdict,
            reason=reason,
            exercised=dict(self.exercised),
            seconds=round(self.result.seconds, 2),
        )


class Merged:
    """The sum of the reports of one kind, as they come."""

    def __init__(self) -> None:
        self.header: Header | None = None
        self.rules: dict[str, RuleRecord] = {}
        self.claims: dict[str, ClaimRecord] = {}
        self.findings = Findings()
        self.programs = self.runs = 0
        self.seconds = 0.0
        self.finished = ""
        self.pairs: dict[str, dict[tuple[str, bool], Counter[str]]] = {}
        """For each op, in each dtype and grad mode, in how many programs each action came after it."""
        self._tests: dict[str, _Test] = {}
        self._known: dict[tuple[str, str | None, str], Known] = {}

    def add(self, report: Report) -> bool:
        """Add a report; whether one of its failures is unlike all that came before."""
        header = report.header
        first = self.header is None or (header.started, header.seed) < (self.header.started, self.header.seed)
        self.header = header if first else self.header
        self.runs += 1
        self.programs += report.programs
        if report.footer is not None:
            self.seconds += report.footer.seconds
            self.finished = max(self.finished, report.footer.finished)
        self.rules |= {each.rule: each for each in report.rules}
        for result in report.results:
            test = self._tests.setdefault(result.test, _Test(_empty(result)))
            test.add(result)
        new = [self.findings.add(failure, header.seed) for failure in report.failures]
        for known in report.known:
            key = known.rule, known.op, known.reason
            was = self._known.get(key)
            self._known[key] = (
                known if was is None else replace(was, seen=was.seen + known.seen, ended=was.ended + known.ended)
            )
        self.claims |= {each.key: each for each in report.claims if each.key not in self.claims or _tells(each)}
        for coverage in report.coverage:
            settings = self.pairs.setdefault(coverage.op, {})
            for setting in coverage.met:
                settings.setdefault((setting.dtype, setting.recorded), Counter()).update(setting.actions)
        return any(new)

    @property
    def exercised(self) -> Counter[str]:
        """How often programs exercised each rule."""
        return sum((test.exercised for test in self._tests.values()), Counter())

    @property
    def met(self) -> int:
        """How many cells of coverage are not empty: an op in a dtype and grad mode, and an action that came after."""
        return sum(len(actions) for settings in self.pairs.values() for actions in settings.values())

    def causes(self) -> tuple[Cause, ...]:
        """The causes of its failures, the worst first."""
        return self.findings.causes({name: test.result.rule for name, test in self._tests.items()})

    def report(self, missing: str | None = None) -> Report:
        """The sum as a report; `missing` says in words what there is to come yet, if there is anything."""
        assert self.header is not None, "there is no report to add up"
        failures = self.findings.failures
        results = tuple(test.whole() for test in self._tests.values())
        footer = Footer(
            verdict="cut short" if missing else "complete",
            finished=self.finished or self.header.started,
            seconds=round(self.seconds, 2),
            tests=len(results),
            programs=self.programs,
            exit_code=int(any(each.level == "MUST" for each in failures)),
            reason=missing,
        )
        return Report(
            replace(self.header, seed=None, profile=f"campaign of {self.runs:,} runs"),
            tuple(self.rules.values()),
            results,
            failures,
            footer,
            tuple(self._known.values()),
            tuple(self.claims.values()),
            tuple(Coverage(op=op, met=_settings(self.pairs[op])) for op in sorted(self.pairs)),
        )


def _empty(result: Result) -> Result:
    """A test before any run of it."""
    nothing: Mapping[str, Any] = {"programs": 0, "left_open": 0, "instructions": 0, "judged": 0, "seconds": 0.0}
    return replace(result, exercised={}, **nothing)


def _tells(claim: ClaimRecord) -> bool:
    """Whether a run has shown something of a claim."""
    return claim.observed not in ("not run", "unknown")


def _settings(found: Mapping[tuple[str, bool], Counter[str]]) -> tuple[Setting, ...]:
    return tuple(Setting(*each, dict(sorted(found[each].items()))) for each in sorted(found))


def merged(reports: Iterable[Report]) -> list[Merged]:
    """The sums of reports, one for each kind, in the order of the kinds' first reports."""
    found: dict[Kind, Merged] = {}
    for report in reports:
        found.setdefault(kind(report.header), Merged()).add(report)
    return list(found.values())
