"""Binary search over versions: chooses the version to try next, and finds the changes between the versions tried.

Versions are numbered from 0, the oldest first. The search assumes that a finding begins or ends only once, and that a
version cannot run the program if a newer version cannot, unless a trial shows otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

Outcome = Literal["bad", "good", "skipped"]
"""The outcome of a finding's program in a version: "bad" if the finding shows, "good" if not, "skipped" if the version
cannot decide."""


@dataclass(frozen=True, slots=True)
class Change:
    """Two versions, one with the finding and one without, with no version in between that decides where the change
    is.
    """

    older: int
    newer: int
    began: bool
    """True if the newer version shows the finding."""


def next_version(outcomes: Mapping[int, Outcome], count: int) -> int | None:
    """Returns the number of the version to try next, of `count` versions; None if no trial is left that would narrow
    the search.
    """
    decisive = sorted(version for version, outcome in outcomes.items() if outcome != "skipped")
    if not decisive:  # first, find the newest version that runs the program
        return max((version for version in range(count) if version not in outcomes), default=None)
    if 0 not in outcomes:
        return 0
    newest = outcomes[decisive[-1]]
    other = [version for version in decisive if outcomes[version] != newest]
    if other:
        older = other[-1]
        newer = min(version for version in decisive if version > older)
    else:
        newer = decisive[0]
        older = max((version for version in outcomes if version < newer), default=newer)
    between = [version for version in range(older + 1, newer) if version not in outcomes]
    return min(between, key=lambda version: abs(2 * version - older - newer), default=None)


def changes(outcomes: Mapping[int, Outcome]) -> tuple[Change, ...]:
    """Returns the changes at which the finding began or ended, the oldest first."""
    decisive = sorted(version for version, outcome in outcomes.items() if outcome != "skipped")
    return tuple(
        Change(older, newer, outcomes[newer] == "bad")
        for older, newer in pairwise(decisive)
        if outcomes[older] != outcomes[newer]
    )
