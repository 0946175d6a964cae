"""Which runs can be added up: those of one kind, each program of which counts once.

Runs of one kind were held to the same rules, in the same version of the suite, and are of the same framework with the
same claims on the same device: anything else is refused, for a sum of two things says nothing.
"""

from __future__ import annotations

from collections.abc import Hashable

from autograd_conformance.reporting.prose import listed, shortened
from autograd_conformance.reporting.records.records import Header, Report, RuleRecord

Kind = tuple[Hashable, ...]
"""What runs have in common that a campaign adds up."""


class IncompatibleRuns(Exception):
    """A run that cannot be added to others; the message says why."""


def kind(header: Header) -> Kind:
    """The kind of a run, and its dtypes: they may be added up, but a campaign reports on each choice of them."""
    return (*_traits(header).values(), header.dtypes)


class CompatibilityCheck:
    """Says which runs can be added to those that were; the first run may be of any kind."""

    def __init__(self) -> None:
        self._first: Header | None = None
        self._rules: frozenset[RuleRecord] = frozenset()
        self._drawn: dict[frozenset[str], set[int]] = {}
        """The seeds of the runs that had the same tests, for each such set of tests."""

    def admit(self, report: Report) -> None:
        """Let a run be added; `Unlike`, and it counts as never seen, where it differs, was cut off, or drew what
        another did.
        """
        header, rules = report.header, frozenset(report.rules)
        if self._first is not None:
            _compare(self._first, header)
            if rules != self._rules:
                raise IncompatibleRuns("the runs differ in their rules")
        if report.footer is None:
            raise IncompatibleRuns("a run has no footer: it was cut off")
        if header.seed is not None:
            tests = frozenset(result.test for result in report.results)
            self._count_once(header.seed, tests)
            self._drawn.setdefault(tests, set()).add(header.seed)
        if self._first is None:
            self._first, self._rules = header, rules

    def _count_once(self, seed: int, tests: frozenset[str]) -> None:
        """Refuse programs that another run drew: a test draws the same ones where the seed is the same."""
        twice = sorted({test for others, seeds in self._drawn.items() if seed in seeds for test in tests & others})
        if twice:
            which = listed(twice, 3)
            raise IncompatibleRuns(
                f"with one seed two runs drew the same programs, which would count twice, for {which}"
            )


def _traits(header: Header) -> dict[str, Hashable]:
    """What has to be the same, by what it is called."""
    return {
        "suite": header.suite,
        "framework": header.framework.title,
        "what the framework claims": header.framework,
        "device": header.device,
        "strictness": header.strict,
    }


def _compare(first: Header, other: Header) -> None:
    wanted, found = _traits(first), _traits(other)
    for what, value in wanted.items():
        if found[what] != value:
            shown = isinstance(value, str)
            values = f": {shortened(str(value), 60)} and {shortened(str(found[what]), 60)}" if shown else ""
            raise IncompatibleRuns(f"the runs differ in their {what}{values}")
