"""What is drawn depends on the seed alone, whatever modules are loaded."""

from __future__ import annotations

import sys
from pathlib import Path

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers

CONSTANT = 724_113
"""What nobody draws from a million by chance."""


def draws(count: int = 300) -> list[int]:
    """What one seed draws from a million numbers."""
    drawn: list[int] = []

    @hypothesis.seed(1)
    @settings(
        max_examples=count, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.integers(0, 1_000_000))
    def keep(number: int) -> None:
        drawn.append(number)

    keep()
    return drawn


@pytest.fixture
def adapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module, not loaded yet, with a number in its source."""
    (tmp_path / "number_in_an_adapter.py").write_text(f"NUMBER = {CONSTANT}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return "number_in_an_adapter"


def test_a_module_that_is_loaded_changes_no_draw(adapter: str) -> None:
    before = draws()
    __import__(adapter)
    try:
        assert draws() == before
    finally:
        del sys.modules[adapter]


def test_hypothesis_by_itself_draws_from_it(adapter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, Hypothesis does it no longer, or otherwise: see `draw_by_seed_alone`."""
    __import__(adapter)
    own = property(lambda provider: providers._get_local_constants())
    monkeypatch.setattr(providers.HypothesisProvider, "_local_constants", own)
    providers.CONSTANTS_CACHE.cache.clear()
    try:
        assert CONSTANT in draws(6_000)  # one of many numbers in the modules that are loaded
    finally:
        providers.CONSTANTS_CACHE.cache.clear()
        del sys.modules[adapter]
