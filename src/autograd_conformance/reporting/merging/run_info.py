"""Header and footer of a sum of runs: the dtypes, profiles, platforms and packages of all runs are listed, and the
runs' seconds are added up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from autograd_conformance.reporting.prose import listed
from autograd_conformance.reporting.records.records import Footer, Header

ENDINGS = ("complete", "cut short", "interrupted")
"""Ways in which a run can end, the best first."""


class RunInfo:
    """Merges the headers and footers of runs; the result does not depend on their order."""

    def __init__(self, header: Header, footer: Footer) -> None:
        self._header, self._footer = header, footer
        self._one_seed = True
        self._dtypes: set[str] = set()
        self._profiles: set[str] = set()
        self._pythons: set[str] = set()
        self._platforms: set[str] = set()
        self._packages: dict[str, set[str]] = defaultdict(set)
        """All versions of each package in the runs' environments."""
        self._environment: set[str] = set()
        self._notes: dict[str, None] = {}
        self._remarks: dict[str, None] = {}
        """Notes of the runs' footers, each once, as the keys of a dictionary."""
        self._whole = False
        """Whether any of the runs ran all suites, without a selection of tests."""
        self._collected = 0
        """Largest number of tests that one run collected."""
        self._not_run = 0
        self._seconds = 0.0

    def add(self, header: Header, footer: Footer, tests: int) -> None:
        """Adds the header and footer of a run in which `tests` tests ran."""
        self._one_seed &= header.seed == self._header.seed
        self._header = replace(
            self._header,
            started=min(self._header.started, header.started),
            workers=max(self._header.workers, header.workers),  # the seconds are added up, as of consecutive runs
        )
        self._dtypes.update(header.dtypes)
        self._profiles.add(header.profile)
        self._pythons.add(header.python)
        self._platforms.add(header.platform)
        for name, version in header.packages.items():
            self._packages[name].add(version)
        self._environment.update(header.environment)
        self._notes.update(dict.fromkeys(header.notes))
        self._remarks.update(dict.fromkeys(footer.notes))
        worst = max(self._footer, footer, key=lambda each: (ENDINGS.index(each.verdict), each.reason or ""))
        self._footer = replace(
            worst,
            finished=max(self._footer.finished, footer.finished),
            exit_code=max(self._footer.exit_code, footer.exit_code),
        )
        self._collected = max(self._collected, tests + footer.not_run + footer.deselected)
        self._whole |= not footer.selection
        self._not_run += footer.not_run
        self._seconds += footer.seconds

    @property
    def header(self) -> Header:
        """Merged header, with the dtypes, profiles, platforms and packages of all runs, the earliest start and the
        largest number of workers; the seed is None if the runs have several seeds.
        """
        return replace(
            self._header,
            seed=self._header.seed if self._one_seed else None,
            dtypes=tuple(sorted(self._dtypes)),
            profile=_all(self._profiles),
            python=_all(self._pythons),
            platform=_all(self._platforms),
            packages={name: _all(versions) for name, versions in sorted(self._packages.items())},
            environment=tuple(sorted(self._environment)),
            notes=tuple(sorted(self._notes)),
        )

    def footer(self, tests: int, programs: int) -> Footer:
        """Merged footer of the runs, with the worst of their endings. A test that any of the runs ran counts neither as
        not run nor as deselected.
        """
        left = max(0, self._collected - tests)
        not_run = min(left, self._not_run)
        return replace(
            self._footer,
            seconds=round(self._seconds, 2),
            tests=tests,
            programs=programs,
            not_run=not_run,
            notes=tuple(sorted(self._remarks)),
            deselected=left - not_run,
            selection=not self._whole,
        )


def _all(values: Iterable[str]) -> str:
    return listed(sorted(values))
