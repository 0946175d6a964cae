"""An op that goes wrong in the audit, which runs each op alone, is blamed only if it fails in a fresh process, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograd_conformance.checking.audit.outcome import KEEPS_STATE, PASSES_ALONE, AuditResult, Fault
from autograd_conformance.failures.confirmation import alone
from autograd_conformance.failures.confirmation.fresh_process import Request
from autograd_conformance.programs.formats import codec
from autograd_conformance.reporting.analysis.summary import summarize
from tests.failures.test_isolation import MOODY, SINE, program
from tests.plugin.test_cli import ONE, run

FAULT = Fault(codec.to_json(program(SINE)), "gradients/op", "returned with another gradient", 2)


def found(*ops: str) -> AuditResult:
    return AuditResult(wrong=frozenset(ops), faults=dict.fromkeys(ops, FAULT))


def request(name: str) -> Request:
    return Request(name, "cpu", False, 20.0, (), {}, 1)


def blamed(name: str, *ops: str, but: frozenset[str] = frozenset(), seconds: float | None = None) -> AuditResult:
    return alone.blaming_only_what_fails_alone(found(*ops), request(name), but, seconds)


def test_what_fails_alone_is_blamed():
    assert blamed("tests.frameworks.adapters.wrong:WrongSine", "sin") == found("sin")


def test_what_passes_alone_is_not_blamed():
    told = blamed(f"{MOODY}:AfterExp", "sin")
    assert (told.wrong, told.faults) == (frozenset(), {})
    assert told.undecided["sin"].why == f"returned with another gradient, but it {PASSES_ALONE}"


def test_a_program_that_ends_its_process_alone_is_blamed():
    ends = Fault(codec.to_json(program("a = leaf [1, 2, 3]; b = sin a")), "gradients/op", "the process died")
    lost = AuditResult(lost=frozenset(["sin"]), faults={"sin": ends})
    assert alone.blaming_only_what_fails_alone(lost, request(f"{MOODY}:DiesOfSine"), frozenset(), None) == lost


def test_what_ended_the_process_but_not_alone_stays_left_out():
    lost = AuditResult(lost=frozenset(["sin"]), faults={"sin": FAULT})
    told = alone.blaming_only_what_fails_alone(lost, request("examples.tiny_adapter:Tiny"), frozenset(), None)
    assert (told.lost, told.faults, [*told.undecided]) == (frozenset(["sin"]), {}, ["sin"])


def test_a_known_difference_does_not_run_again():
    assert blamed(f"{MOODY}:AfterExp", "sin", but=frozenset(["sin"])) == found("sin")


def test_without_time_ops_are_blamed():
    assert blamed(f"{MOODY}:AfterExp", "sin", seconds=0.0) == found("sin")


def test_an_op_without_time_is_not_blamed_if_another_passes_alone(monkeypatch: pytest.MonkeyPatch):
    ran = iter([True, None, False])
    monkeypatch.setattr(alone, "_passes", lambda request, until: next(ran))
    told = blamed("any", "exp", "sin", "mm")
    assert [*told.faults] == ["mm"]
    assert {op: each.ran_alone for op, each in told.undecided.items()} == {"exp": True, "sin": False}
    assert told.undecided["sin"].why.endswith(
        f"it was not run alone in a fresh process, where other ops pass: {KEEPS_STATE}"
    )


@pytest.mark.slow
def test_a_run_blames_no_op_for_what_another_left_behind(tmp_path: Path):
    seen = run(tmp_path, ONE, framework=f"{MOODY}:AfterExp")
    assert not [each for each in seen.report.failures if each.test.startswith("audit")]
    results = {each.test: (each.verdict, each.reason) for each in seen.report.results}
    verdict, reason = results["audit[sin]"]
    assert verdict == "cannot be told"
    assert str(reason).endswith(PASSES_ALONE)
    assert f"1 op (sin) went wrong after other programs, but it {PASSES_ALONE}" in " ".join(seen.output.split())
    assert summarize(seen.report).conclusion != "conformant"
