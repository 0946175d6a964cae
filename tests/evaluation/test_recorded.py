"""The choice of recorded programs, and the page about what was never drawn."""

from __future__ import annotations

import pytest

from autograd_conformance.interactions.reachable import Met, reachable
from autograd_conformance.interactions.recorded import recorded
from autograd_conformance.programs.formats.text import parse
from evaluation.recorded import page
from evaluation.recorded.reasons import REASONS, reason
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


def test_no_reason_excludes_a_pair_that_some_program_has() -> None:
    facts, met = list(reachable().facts), Met.of(reachable().meetings)
    pairs = [(facts[one], facts[other]) for one, bits in met.pairs.items() for other in range(len(facts))
             if bits >> other & 1]  # fmt: skip
    assert len(pairs) == met.counts[0]
    assert [pair for pair in pairs if reason(*pair)] == []


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        ("backward", "clip: kind norm", "An instruction is of one kind."),
        ("step: alpha", "step: optimizer sgd", "No optimizer has both settings."),
        ("view", "optimizer", "The operands of the instruction are leaves."),
        ("hooked", "hooked again", "The one ends the other."),
        ("deleted", "hook", "No instruction may name a deleted value; only the graph still has it."),
        ("apply: module", "apply: view", "No op of the tables is of both classes."),
        ("grad: two roots", "grad: three or more roots", "An option has one value at a time."),
    ],
)
def test_a_pair_that_cannot_meet_has_a_reason(one: str, other: str, why: str) -> None:
    for found in (reason(one, other), reason(other, one)):
        assert found is not None
        assert found.text == why


def test_legal_pairs_have_no_reason_and_each_reason_excludes_some_pair() -> None:
    assert reason("under no_grad", "zero_grad: two leaves") is None
    assert reason("grad: create_graph", "grad: two roots") is None
    texts = page.page()
    assert all(f"| {each.text} |" in texts for each in REASONS)
