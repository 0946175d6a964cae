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
    assert lasting(39, 10).gates_until() == NOW, "loading three times would leave too little"


def test_an_audit_takes_at_least_as_long_as_loading_its_processes() -> None:
    assert lasting(50, 10).audit_until(slow=False) == NOW + 10 + 15
    assert lasting(39, 10).audit_until(slow=False) == NOW, "it would take longer to load than to run"
    assert lasting(300, 0).audit_until(slow=True) == NOW + 15
    assert lasting(300, 10).audit_until(slow=True) == NOW + 10 + 14
    assert lasting(200, 10).audit_until(slow=True) == NOW


def test_a_deadline_leaves_the_audit_half_of_the_time() -> None:
    assert lasting(50, 5).audit_seconds(slow=False) == 20
    assert lasting(5, 5).audit_seconds(slow=False) == 0
    assert UNLIMITED.audit_seconds(slow=False) is None
