"""The estimated cost of finds with other shares of programs, computed from stored finds."""

from __future__ import annotations

import pytest

from evaluation.fresh.shares import Cost, Round, by_finds, by_suite, equal, least_exercised

ONE, TWO, OFTEN = "views/test_a", "views/test_b", "sequences/test_c"
RUN = Round(
    {ONE: Cost("views/one", 10, 1.0), TWO: Cost("views/two", 10, 1.0), OFTEN: Cost("sequences/all", 100, 8.0)},
    {"views/one": 1, "views/two": 4, "sequences/all": 100},
)


def test_a_test_with_a_larger_share_finds_sooner_and_makes_a_round_dearer() -> None:
    assert RUN.ratios(equal, [ONE, OFTEN]) == [1.0, 1.0]
    twice = RUN.ratios(lambda test: 2.0 if test == OFTEN else 1.0, [ONE, OFTEN])
    assert twice == pytest.approx([18 / 10, 18 / 10 / 2])


def test_shares_by_suite_give_each_its_part_of_the_time() -> None:
    assert RUN.ratios(by_suite(RUN, {"views": 1.0, "sequences": 1.0}), [ONE, OFTEN]) == pytest.approx([0.4, 1.6])
    assert RUN.ratios(by_finds(RUN, [OFTEN, OFTEN, OFTEN]), [OFTEN]) == pytest.approx([8 / 10 * 5 / 4])


def test_least_exercised_rules_get_larger_shares_within_limits() -> None:
    shares = least_exercised(RUN, 1)
    assert [shares(test) for test in (ONE, TWO, OFTEN)] == [4.0, 1.0, 0.25]
