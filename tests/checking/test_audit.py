"""The findings of the audit are verdicts, whatever the tests do. A framework with few ops can be tested, too."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from autograd_conformance.checking.audit import corners, workers
from autograd_conformance.checking.audit.outcome import AuditResult
from autograd_conformance.checking.audit.programs import audit, curvatures, programs
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.limits import Limit, outside
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.language import Apply
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reporting.analysis.summary import summarize
from autograd_conformance.strategies.building.alphabet import EVERYTHING, using
from autograd_conformance.strategies.building.unsupported import Unsupported
from examples.tiny_adapter import Tiny
from tests.frameworks.adapters import few
from tests.plugin.test_cli import ONE, run

WRONG = "tests.frameworks.adapters.wrong"


@pytest.mark.parametrize("tests", [(ONE,), ("suites/test_gradients.py", "-k", "test_op")])
@pytest.mark.slow
def test_a_wrong_op_is_never_conformant(tests: tuple[str, ...], tmp_path: Path):
    seen = run(tmp_path, *tests, framework=f"{WRONG}:WrongSum")
    assert seen.code == 1
    summary = summarize(seen.report)
    assert summary.conclusion == "not conformant"
    assert [each.op for each in summary.ops if each.verdict == "fail"] == ["sum"]
    failure = seen.failure
    assert failure.op == "sum"
    program = json.loads(Path(failure.replay or "").read_text())
    assert codec.from_json(program) == codec.from_json(failure.program)


@pytest.mark.slow
def test_a_test_that_shows_a_wrong_op_says_it_once(tmp_path: Path):
    sine = "suites/test_gradients.py::test_op_samples[sin]"
    seen = run(tmp_path, sine, ONE, framework=f"{WRONG}:WrongSine")
    assert seen.code == 1
    assert seen.failure.test == sine


@pytest.mark.parametrize("name", ["Summless", "Scalars"])
@pytest.mark.slow
def test_neither_a_sum_nor_cotangents_are_needed(name: str, tmp_path: Path):
    seen = run(tmp_path, "suites/test_accumulation.py", "suites/test_lifetime.py", framework=f"{WRONG}:{name}")
    assert seen.code == 0, seen.output
    verdicts = {each.rule.rule: each.verdict for each in summarize(seen.report).rules}
    assert verdicts["accumulation/adds"] == verdicts["lifetime/same-root-raises"] == "pass"


@pytest.mark.parametrize("framework", [few.FewCreatedInPlace(), few.FewColumnMajor()])
def test_advice_makes_no_op_wrong(framework: few.Few):
    found = audit(InProcess(framework), ("float64",), thrice=False)
    assert not found.wrong
    assert not found.once
    assert not found.faults


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Summless", "Scalars"])
def test_a_shape_that_does_not_fit_ends_no_test(name: str, tmp_path: Path):
    seen = run(tmp_path, "suites/test_relations.py::test_orders", framework=f"{WRONG}:{name}")
    assert seen.code == 0, seen.output
    (result,) = seen.report.results
    assert (result.verdict, result.reason) == ("pass", None)
    assert result.exercised["relations/order"] > 20


@pytest.mark.parametrize("op", ["sum", "unstack", "stack", "sin"])
def test_the_audit_skips_programs_that_the_framework_does_not_support(op: str):
    """The audit draws other ops and attributes, too; a program with one outside the limits must not end the audit."""
    limits = {
        "sum": Limit(attrs={"keepdim": [False]}, dimensions=[1], empty=False),
        "multiply": Limit(dimensions=[2]),
        "stack": Limit(attrs={"dim": [0]}, broadcasts=False),
    }
    try:
        with using(replace(EVERYTHING, limits=limits)):
            found = [*programs(op, ("float64",)), *curvatures(op, ("float64",)), *corners.programs(op, ("float64",))]
            found += corners.releases(op, "float64")
    except Unsupported as error:  # which would skip the test
        pytest.fail(str(error))
    assert found
    for program in found:
        reference = Reference()
        for step in program:
            if isinstance(step, Apply):
                shapes = [reference.values[ref].shape for ref in step.args]
                assert outside(limits, step.op, shapes, step.attrs) is None
            reference.add(step)


def test_a_framework_without_a_backward_call_is_not_asked_for_one():
    class Forward(Tiny):
        capabilities = Tiny.capabilities - {Capability.IMPERATIVE}

    assert audit(InProcess(Forward()), Forward.dtypes, False) == AuditResult()


@pytest.mark.parametrize(
    ("adapter", "ending"),
    [
        ("DiesInExp", "the process died of SIGSEGV"),
        ("Explains", "the process ended itself with exit code 1; its last output was: dimensions 2 and 3 do not match"),
    ],
)
def test_an_op_that_ends_its_process_is_described_by_how(adapter: str, ending: str):
    name = f"tests.frameworks.adapters.dying:{adapter}"
    assert workers.audit(name, "cpu", ("float64",), 20.0, False).found.faults["exp"].observed == ending
