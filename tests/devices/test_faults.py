"""The suite finds each faulty device and names the rule; the device without a fault passes the same search."""

from __future__ import annotations

import pytest

from evaluation.mutants.kill import kill
from evaluation.mutants.probes import QUICK
from tests.devices.faults import FAULTS, OnExample, Overwrites


def killed(fault: type[OnExample]) -> None:
    with fault.faulty():
        found = kill(fault)
    assert found is not None, f"not killed: {fault.fault}"
    assert found.rule in fault.killed_by, f"{found.rule}, {found.violation.observed_text()}\n{found.text}"
    assert len(found.program) <= fault.longest, found.text


def test_a_gradient_that_is_overwritten_is_found() -> None:
    killed(Overwrites)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [each for each in FAULTS if each is not Overwrites], ids=lambda each: each.__name__)
def test_killed(fault: type[OnExample]) -> None:
    killed(fault)


@pytest.mark.slow
def test_no_false_alarm() -> None:
    found = kill(OnExample, QUICK // 10)
    assert found is None, f"{found.rule}, {found.violation.observed_text()}\n{found.text}"
