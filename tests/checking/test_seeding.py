"""Draws depend on the seed alone, whatever modules are loaded, and all choices are equally likely."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from autograd_conformance.checking.seeding import BACKEND
from autograd_conformance.strategies.building.randomness.choices import Choices, Draw

MOST = 1_000_000


NUMBERS = st.integers(0, MOST)


def draws(strategy: st.SearchStrategy[int] = NUMBERS, count: int = 300) -> list[int]:
    """The draws of one seed."""
    drawn: list[int] = []

    @hypothesis.seed(1)
    @settings(
        max_examples=count, backend=BACKEND, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def keep(number: int) -> None:
        drawn.append(number)

    keep()
    return drawn


@pytest.fixture
def adapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module that is not loaded yet, with a number in its source."""
    (tmp_path / "number_in_an_adapter.py").write_text("NUMBER = 724_113\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return "number_in_an_adapter"


def test_a_module_that_is_loaded_changes_no_draw(adapter: str) -> None:
    before = draws()
    __import__(adapter)
    try:
        assert draws() == before
    finally:
        del sys.modules[adapter]


def test_no_number_is_likelier_than_another() -> None:
    counts = Counter(draws(st.integers(0, 7), 4_000))
    assert len(counts) == 8
    assert all(400 < count < 600 for count in counts.values())


def test_so_is_no_byte() -> None:
    counts = Counter(draws(st.binary(min_size=1, max_size=1).map(lambda data: data[0] % 8), 4_000))
    assert all(400 < count < 600 for count in counts.values())


def test_what_fails_is_shrunk_as_ever() -> None:
    found: list[int] = []

    @hypothesis.seed(1)
    @settings(max_examples=300, backend=BACKEND, deadline=None, database=None)
    @given(st.integers(0, MOST))
    def body(number: int) -> None:
        found.append(number)
        assert number < 1_234

    with pytest.raises(AssertionError):
        body()
    assert found[-1] == 1_234


# -- choices that are drawn past Hypothesis ----------------------------------------------------------------------------


@st.composite
def mixtures(draw: Draw) -> tuple[object, ...]:
    """Choices of every kind, some of them drawn by Hypothesis, and a part that depends on one of them."""
    choices = Choices(draw)
    first, more, side = choices.below(1_000), draw(st.integers(0, 50)), choices.coin()
    data = choices.raw(choices.below(40))
    rest = tuple(choices.part(lambda: choices.below(300)) for _ in range(draw(st.integers(0, 3))))
    return first, more, side, data, rest, draw(st.text(max_size=3)), draw(st.floats(0, 1)), choices.below(7)


def test_what_fails_is_drawn_again_as_it_was_and_shrunk() -> None:
    ran: list[tuple[object, ...]] = []

    @hypothesis.seed(3)
    @settings(max_examples=300, backend=BACKEND, deadline=None, database=None)
    @given(mixtures())
    def body(values: tuple[object, ...]) -> None:
        ran.append(values)
        assert values[0] < 900 or not values[2] or len(values[3]) < 5  # type: ignore[operator, arg-type]

    with pytest.raises(AssertionError):
        body()
    failed = next(k for k, values in enumerate(ran) if values[0] >= 900 and values[2] and len(values[3]) >= 5)  # type: ignore[operator, arg-type]
    assert ran[failed + 1] == ran[failed]
    assert ran[-1] == (900, 0, True, bytes(5), (), "", 0.0, 0)


def test_what_is_too_long_to_be_shrunk_is_not_run() -> None:
    sizes: list[int] = []

    @st.composite
    def long(draw: Draw) -> int:
        choices = Choices(draw)
        return sum(len(choices.raw(1_000)) for _ in range(choices.below(20)))

    @hypothesis.seed(1)
    @settings(
        max_examples=100, backend=BACKEND, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(long())
    def body(size: int) -> None:
        sizes.append(size)

    body()
    assert max(sizes) == 8_000
    assert len(sizes) == 100


def test_many_numbers_are_as_likely_as_few() -> None:
    @st.composite
    def numbers(draw: Draw) -> int:
        return Choices(draw).below(400)

    counts = Counter(draws(numbers(), 4_000))  # Hypothesis by itself prefers the ends of more than 128
    assert sum(counts[k] for k in (0, 1, 398, 399)) < 80
