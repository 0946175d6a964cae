"""The environment variables that a report lists."""

from __future__ import annotations

import pytest

from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.target import InProcess
from examples.tiny_adapter import Tiny


def test_what_is_set_and_changes_the_framework_is_told_and_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    before = InProcess(Torch()).variables
    monkeypatch.setenv("TORCHINDUCTOR_FREEZING", "1")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/somewhere")
    monkeypatch.setenv("NUMBA_THREADS", "1")
    assert InProcess(Torch()).variables == {**before, "TORCHINDUCTOR_FREEZING": "1"}
    assert InProcess(Tiny()).variables == {}
