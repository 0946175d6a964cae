"""The choice of recorded programs, and the page about what was never drawn."""

from __future__ import annotations

import pytest

from autograd_conformance.interactions.recorded import recorded
from autograd_conformance.programs.formats.text import parse
from evaluation.recorded import page
from evaluation.recorded.selection import Numbers, cover, union


@pytest.mark.parametrize(
    ("interactions", "has", "chosen"),
    [
        ([0b1, 0b111, 0b1100], 0, [1, 2]),
        ([0b1, 0b111, 0b1100], 0b1000, [1]),
        ([0b11, 0b11], 0, [0]),
        ([0b1, 0b10, 0b100], 0, [0, 1, 2]),
        ([0b11], 0b111, []),
        ([], 0, []),
    ],
)
def test_a_cover_begins_with_what_adds_most(interactions: list[int], has: int, chosen: list[int]) -> None:
    assert cover(interactions, has) == chosen


def test_interactions_have_the_same_number_in_each_program() -> None:
    numbers = Numbers(2)
    first = numbers.bits(parse("a = leaf [1, 2]; b = exp a"))
    longer = numbers.bits(parse("a = leaf [1, 2]; b = exp a; c = exp b"))
    assert first and longer != first
    assert union([first, longer]) == longer
    assert longer.bit_count() == len(numbers.number)


def test_each_of_the_first_programs_adds_a_pair() -> None:
    numbers, seen = Numbers(2), 0
    found = recorded()
    for program in [program for part in range(found.parts(whole=False)) for program in found.part(part)][: found.pairs]:
        bits = numbers.bits(program)
        assert bits & ~seen
        seen |= bits


def test_the_page_is_up_to_date() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.page(), "run `python -m evaluation.recorded.page`"
