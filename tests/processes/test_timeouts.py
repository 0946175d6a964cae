"""A timeout is unchanged on an idle machine, and longer if processes wait for a processor."""

from __future__ import annotations

import os

import pytest

from autograd_conformance.processes.timeouts import scaled_timeout


@pytest.mark.parametrize(("waiting", "processors", "seconds"), [(0.5, 2, 60.0), (2.0, 2, 60.0), (10.0, 2, 300.0)])
def test_stretches_with_the_load(
    waiting: float, processors: int, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (waiting, 0.0, 0.0))
    monkeypatch.setattr(os, "cpu_count", lambda: processors)
    assert scaled_timeout(60.0) == seconds


def test_stays_where_nothing_is_said_of_the_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "getloadavg")
    assert scaled_timeout(60.0) == 60.0
