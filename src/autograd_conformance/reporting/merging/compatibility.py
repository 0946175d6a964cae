"""Checks whether runs can be added up.

The runs must have the same rules, version of the suite, framework, claims, device and strictness, and no program may be
counted twice.
"""

from __future__ import annotations

from collections.abc import Hashable

from autograd_conformance.reporting.prose import listed, shortened
from autograd_conformance.reporting.records.records import Header, Report, RuleRecord

Kind = tuple[Hashable, ...]
"""Key of runs whose records a campaign adds up: suite, framework, claims of the adapter, device, strictness and dtypes.
"""


class IncompatibleRuns(Exception):
    """A run cannot be added to others; the message has the reason."""


def kind(header: Header) -> Kind:
    """Returns the key by which a campaign decides which runs to add up. The key includes the dtypes: runs of different
    dtypes are compatible, but campaigns report on each separately.
    """
    return (*_traits(header).values(), header.dtypes)


class CompatibilityCheck:
    """Checks that each run can be added to the runs that were admitted earlier; the first run needs only to be
    complete.
    """

    def __init__(self) -> None:
        self._first: Header | None = None
        self._rules: frozenset[RuleRecord] = frozenset()
        self._drawn: dict[frozenset[str], set[int]] = {}
        """For each set of tests, the seeds of the runs that had these tests."""

    def admit(self, report: Report) -> None:
        """Admits a run. Raises `IncompatibleRuns`, and changes nothing, if the run differs from the first one in its
        suite, framework, claims, device, strictness or rules, has no footer, or drew the same programs as another run.
        """
        header, rules = report.header, frozenset(report.rules)
        if self._first is not None:
            _compare(self._first, header)
            if rules != self._rules:
                raise IncompatibleRuns("the runs differ in their rules")
        if report.footer is None:
            raise IncompatibleRuns("a run has no footer, because it was killed")
        if header.seed is not None:
            tests = frozenset(result.test for result in report.results)
            self._count_once(header.seed, tests)
            self._drawn.setdefault(tests, set()).add(header.seed)
        if self._first is None:
            self._first, self._rules = header, rules

    def _count_once(self, seed: int, tests: frozenset[str]) -> None:
        """Raises `IncompatibleRuns` if an earlier run had the same seed and one of these tests, and so drew the same
        programs.
        """
        twice = sorted({test for others, seeds in self._drawn.items() if seed in seeds for test in tests & others})
        if twice:
            which = listed(twice, 3)
            raise IncompatibleRuns(
                f"two runs have the same seed: the programs of these tests would count twice: {which}"
            )


def _traits(header: Header) -> dict[str, Hashable]:
    """Returns the properties that must be equal in all runs that are added up, by the names that error messages use:
    ``suite``, ``device``.
    """
    return {
        "suite": header.suite,
        "framework": header.framework.title,
        "claims": header.framework,
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
