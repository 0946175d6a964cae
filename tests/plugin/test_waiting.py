"""Whole runs on frameworks in which a stage is broken: one failure, and what needs the stage waits."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograd_conformance.reporting.analysis.causes import causes
from autograd_conformance.reporting.analysis.summary import summarize
from tests.plugin.test_cli import run

pytestmark = pytest.mark.slow

BROKEN = "tests.frameworks.adapters.broken"
ACCUMULATION, DETACH, FORWARD = "suites/test_accumulation.py", "suites/test_detach.py", "suites/test_gradients.py"
HOOKS, SEQUENCES = "suites/test_hooks.py", "suites/test_sequences.py"


@pytest.mark.parametrize("workers", ["0", "2"])
def test_where_every_backward_call_raises_all_but_forward_values_waits(workers: str, tmp_path: Path) -> None:
    seen = run(tmp_path, FORWARD, DETACH, ACCUMULATION, "-n", workers, framework=f"{BROKEN}:NoBackward")
    assert seen.code == 1
    assert seen.failure.test == "stage[first gradients]" and "no gradient today" in seen.failure.observed
    assert seen.failure.why, "it is explained as any other failure"
    ran = {each.test.rpartition("::")[2] for each in seen.report.results if each.programs}
    assert ran == {"test_forward", "stage[first gradients]"}
    verdicts = {each.verdict for each in seen.report.results}
    assert verdicts == {"pass", "fail", "waiting", "not applicable"}
    summary = summarize(seen.report)
    assert len(summary.causes) == 1
    begins = "Stage 1 (forward values) holds in 60 programs; 2 (first gradients) is wholly broken"
    assert summary.climb.startswith(begins)
    assert summary.climb in " ".join(seen.output.split())


def test_where_gradients_are_overwritten_what_adds_to_them_waits(tmp_path: Path) -> None:
    seen = run(tmp_path, ACCUMULATION, DETACH, SEQUENCES, "-n0", framework=f"{BROKEN}:Overwrites")
    assert seen.code == 1 and len(causes(seen.report)) == 1
    assert {each.rule for each in seen.report.failures} == {"accumulation/adds"}
    waits = {each.rule for each in seen.report.results if each.verdict == "waiting"}
    assert {rule.partition("/")[0] for rule in waits} == {"accumulation", "sequences"}
    others = {each.verdict for each in seen.report.results if each.rule.startswith("detach")}
    assert others == {"pass", "not applicable"}


def test_what_is_broken_in_one_form_hides_nothing(tmp_path: Path) -> None:
    seen = run(tmp_path, ACCUMULATION, DETACH, "-n0", framework=f"{BROKEN}:OverwritesNumbers")
    assert seen.code == 1
    assert "waiting" not in {each.verdict for each in seen.report.results}
    assert {each.rule for each in seen.report.failures} == {"accumulation/adds"}


def test_a_stage_that_no_selected_test_needs_fails_nothing(tmp_path: Path) -> None:
    seen = run(tmp_path, DETACH, "-n0", framework=f"{BROKEN}:Overwrites")
    assert seen.code == 0 and not seen.report.failures


def test_hooks_that_are_never_called_are_one_cause(tmp_path: Path) -> None:
    seen = run(tmp_path, HOOKS, "suites/test_modes.py::test_constant", "-n0", framework=f"{BROKEN}:SilentHooks")
    assert (seen.code, seen.failure.rule, seen.failure.test) == (1, "hooks/called", "stage[hooks]")
    others = {each.verdict for each in seen.report.results if each.rule.startswith("hooks") and not each.programs}
    assert others == {"waiting"}
