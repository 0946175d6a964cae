"""Binary search: it finds the change, tries few versions, and concludes nothing about undecided versions."""

from __future__ import annotations

import math
from collections.abc import Collection

import pytest

from autograd_conformance.campaigns.bisect.search import Change, Outcome, changes, next_version


def searched(count: int, bad: Collection[int], unable: Collection[int] = ()) -> dict[int, Outcome]:
    """The outcomes of the versions that were tried."""
    outcomes: dict[int, Outcome] = {}
    while (number := next_version(outcomes, count)) is not None:
        assert 0 <= number < count
        assert number not in outcomes
        outcomes[number] = "skipped" if number in unable else "bad" if number in bad else "good"
    return outcomes


@pytest.mark.parametrize("count", range(2, 40))
def test_it_finds_where_a_finding_began_or_ended_in_as_few_trials_as_a_binary_search(count: int) -> None:
    for first in range(1, count):
        for began in (True, False):
            bad = range(first, count) if began else range(first)
            outcomes = searched(count, bad)
            assert changes(outcomes) == (Change(first - 1, first, began),)
            assert len(outcomes) <= 2 + math.ceil(math.log2(count - 1))


@pytest.mark.parametrize("bad", [range(20), ()], ids=["always", "never"])
def test_both_ends_are_enough_where_nothing_changes(bad: Collection[int]) -> None:
    outcomes = searched(20, bad)
    assert (sorted(outcomes), changes(outcomes)) == ([0, 19], ())


def test_older_versions_that_cannot_run_the_program_cost_a_binary_search() -> None:
    for oldest in range(1, 40):
        for first in range(oldest + 1, 40):
            outcomes = searched(40, range(first, 40), range(oldest))
            assert changes(outcomes) == (Change(first - 1, first, True),)
            assert len(outcomes) <= 2 + 2 * math.ceil(math.log2(40))
        outcomes = searched(40, range(oldest, 40), range(oldest))
        assert changes(outcomes) == ()
        assert {oldest - 1, oldest} <= outcomes.keys(), "the oldest that runs it, and that the one before does not"
        assert len(outcomes) <= 2 + math.ceil(math.log2(40))


def test_versions_that_cannot_tell_lie_between_or_are_gone_around() -> None:
    assert changes(searched(9, range(5, 9), {4})) == (Change(3, 5, True),), "4 may have it, or not"
    assert changes(searched(9, range(5, 9), {2, 8})) == (Change(4, 5, True),)
    assert changes(searched(9, range(9), range(9))) == ()
    assert len(searched(9, range(9), range(9))) == 9, "one that runs it is looked for among all"


def test_every_change_is_reported_where_all_were_tried() -> None:
    outcomes: dict[int, Outcome] = {0: "good", 1: "bad", 2: "skipped", 3: "good", 4: "good"}
    assert changes(outcomes) == (Change(0, 1, True), Change(1, 3, False))
