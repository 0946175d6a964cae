"""What is drawn depends on the seed alone, whatever modules are loaded; all that can be drawn is as likely."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from autograd_conformance.harness.seeding import BACKEND

MOST = 1_000_000


NUMBERS = st.integers(0, MOST)


def draws(strategy: st.SearchStrategy[int] = NUMBERS, count: int = 300) -> list[int]:
    """What one seed draws."""
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
    """The name of a module, not loaded yet, with a number in its source."""
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
