"""Which version is tried next, and where the change is, given what came of those that were tried.

A framework's versions are numbers from 0, the oldest, on. It is taken that a finding begins, or ends, once, and that a
version which is older than one that cannot run the program cannot run it, until one of them is seen to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

Outcome = Literal["bad", "good", "skipped"]
"""The finding is there, it is not, or this version cannot tell."""


@dataclass(frozen=True, slots=True)
class Change:
    """Two versions, none that can tell between them of which anything is known, of which one has the finding."""

    older: int
    newer: int
    began: bool
    """Whether the newer one has it."""


def next_version(outcomes: Mapping[int, Outcome], count: int) -> int | None:
    """The version to be tried next, of so many; None where the change is found, or there is none to find."""
    decisive = sorted(version for version, outcome in outcomes.items() if outcome != "skipped")
    if not decisive:  # the newest that runs the program at all
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
    """Where the finding began or ended, the oldest change first."""
    decisive = sorted(version for version, outcome in outcomes.items() if outcome != "skipped")
    return tuple(
        Change(older, newer, outcomes[newer] == "bad")
        for older, newer in pairwise(decisive)
        if outcomes[older] != outcomes[newer]
    )
