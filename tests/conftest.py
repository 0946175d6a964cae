"""Fixtures of all of the suite's own tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autograd_conformance.strategies.building import alphabet


@pytest.fixture(autouse=True, scope="module")
def unchanged_alphabet() -> Iterator[None]:
    """Restores the ops and dtypes that programs are drawn from, which a session with a framework sets."""
    with alphabet.using(alphabet.current()):
        yield
