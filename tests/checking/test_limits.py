"""The limits of a run: when the gates and the audit end, so that tests have time, too."""

from __future__ import annotations

import time

import pytest

from autograd_conformance.checking.limits import UNLIMITED, Limits

NOW = 1_000.0


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: NOW)


def lasting(seconds: float, loading: float) -> Limits:
    return Limits(deadline=NOW + seconds, end=NOW + seconds + 5, loading=loading)


def test_without_a_deadline_nothing_ends() -> None:
    assert UNLIMITED.gates_until() == UNLIMITED.audit_until(slow=True) == float("inf")


def test_gates_have_a_part_of_what_loading_leaves() -> None:
    assert lasting(50, 0).gates_until() == NOW + 10
    assert lasting(50, 10).gates_until() == NOW + 10 + 4
    assert lasting(20, 10).gates_until() == NOW + 10, "no time for a gate"


def test_a_slow_framework_is_audited_only_if_that_takes_longer_than_loading() -> None:
    assert lasting(50, 0).audit_until(slow=True) == NOW + 10
    assert lasting(50, 5).audit_until(slow=True) == NOW + 5 + 8
    assert lasting(50, 10).audit_until(slow=True) == NOW, "it would end before it begins"
    assert lasting(50, 10).audit_until(slow=False) == NOW + 25
