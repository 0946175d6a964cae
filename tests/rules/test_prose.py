"""Numbers in a failure: values that differ are printed differently, with their distance if it is small."""

from __future__ import annotations

import numpy as np
import pytest

from autograd_conformance.programs.observations import Gradient
from autograd_conformance.reporting.prose import error_words
from autograd_conformance.rules.prose import shown, shown_distinct, shown_with_distance, ulps_apart
from autograd_conformance.rules.violations.pairs import SumsDiffer, ValuesDiffer

ONE = np.array([1.0, 2.0])
NEXT = np.nextafter(ONE, 3.0)


@pytest.mark.parametrize(
    ("value", "other"),
    [
        (ONE, NEXT),
        (np.array(0.1), np.array(0.1, dtype=np.float32)),
        (np.array([1e-300]), np.array([1.0000000000001e-300])),
        (np.zeros(50), np.arange(50) % 30 // 29 * 1.0),  # in elements that are left out
        (np.full((5, 5), 1.0), np.full((5, 5), 1.0) + np.eye(5)[::-1] * 2**-52),
        (np.array([np.nan, 1.0]), np.array([np.nan, 1.0 + 2**-52])),
    ],
)
def test_values_that_differ_are_printed_differently(value: np.ndarray, other: np.ndarray) -> None:
    assert shown(value) == shown(other)
    one, two = shown_distinct(value, other)
    assert one != two


def test_no_more_digits_are_printed_than_needed() -> None:
    assert shown_distinct(np.array([0.1 + 0.2]), np.array([0.5])) == ("[0.3]", "[0.5]")
    assert shown_distinct(np.array([0.1 + 0.2]), None, np.array([0.1 + 0.2])) == ("[0.3]", "none", "[0.3]")


@pytest.mark.parametrize(
    ("value", "other", "words"),
    [
        (ONE, NEXT, " (1 unit in the last place of float64 apart)"),
        (np.float32([1, 2]), np.float32([1 + 2**-22, 2]), " (2 units in the last place of float32 apart)"),
        (np.float32([1.0]), np.array([1 + 2**-23]), " (1 unit in the last place of float32 apart)"),
        (ONE, ONE + 1, ""),
        (ONE, ONE, ""),
        (ONE, np.array([np.nan, 2.0]), ""),
        (ONE, None, ""),
    ],
)
def test_a_small_distance_is_printed_in_units_of_the_last_place(value, other, words: str) -> None:
    assert shown_with_distance(value, other)[2] == words


def test_arrays_of_other_shapes_are_no_units_apart() -> None:
    assert ulps_apart(ONE, np.array(1.0)) is ulps_apart(np.array([]), np.array([])) is None


def test_values_of_two_programs_that_differ_are_printed_differently() -> None:
    left, right = (Gradient(value, "float64", None, False, None, None) for value in (ONE, NEXT))
    text = ValuesDiffer("a", True, left, right).observed_text()
    assert "[1., 2.], but [1.0000000000000002, 2.0000000000000004] in the second" in text
    assert text.endswith("(1 unit in the last place of float64 apart)")
    assert "1 unit in the last place" in SumsDiffer("a", ("b",), left, NEXT).observed_text()


@pytest.mark.parametrize(
    ("largest", "bound", "words"),
    [
        (4.0, 1.6e-15, ("2.5e+15 times the bound", "largest error 4, bound 1.6e-15")),
        (1.00001, 1.0, ("1.00001 times the bound", "largest error 1.00001, bound 1")),
        (np.nan, 1e-9, ("not a number", "a number is expected")),
        (np.inf, 1e-9, ("infinite", "a finite number is expected")),
        (0.5, 0.0, ("above the bound", "largest error 0.5; no error is allowed")),
        (0.5, np.nan, ("wrong", "largest error 0.5; its rounding bound could not be computed")),
    ],
)
def test_an_error_is_described_in_correct_words(largest: float, bound: float, words: tuple[str, str]) -> None:
    assert error_words(largest, bound) == words
