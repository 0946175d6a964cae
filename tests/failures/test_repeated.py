"""A wrong dtype whose cause is recorded ends no test, and a test of the op still fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograd_conformance.checking.check import Check, RuleViolated
from autograd_conformance.checking.session import Session, Settings
from autograd_conformance.failures import record
from autograd_conformance.failures.counted import is_repeated
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from examples import tiny
from examples.tiny_adapter import Tiny
from tests.plugin.test_cli import run

PREFIX = "tests.failures.test_repeated:"


class Promotes(Tiny):
    """Numbers without dimensions are float64, and the derivative of the sine is the sine."""

    name = "promotes"

    def apply(self, op: str, operands: Any, attrs: Any) -> Any:
        made = super().apply(op, operands, attrs)
        if op == "sin":
            (a,) = operands
            made = (tiny.record(np.sin(a.data), (a,), lambda g: (g * np.sin(a.data),)),)
        for each in made:
            if not each.data.shape:
                each.data = each.data.astype(np.float64)
        return made


NUMBER = "a = leaf f32 2; b = exp a"
SINE = "c = leaf [1, 2]; d = sin c; backward d with [1, 1]"


def check(session: Session) -> Check:
    made = session.framework.check("gradients/op")
    made.is_repeated = lambda program, violation: is_repeated(session, program, violation)
    return made


def violated(of: Check, text: str) -> RuleViolated:
    with pytest.raises(RuleViolated) as caught:
        of(parse(text, VOCABULARY))
    return caught.value


def test_a_recorded_dtype_ends_no_test(tmp_path: Path) -> None:
    session = Session.of(Settings(f"{PREFIX}Promotes", tmp_path))
    first = violated(check(session), NUMBER)
    assert (first.violation.rule, first.violation.at) == ("gradients/forward", 1)
    record.failure(first, "t", session)
    second = check(session)
    second(parse(NUMBER, VOCABULARY))
    second(parse(NUMBER, VOCABULARY))
    assert [each.violation.op for each in second.repeated] == ["exp"] and second.shortest is None
    assert violated(second, SINE).violation.op == "sin"


def test_a_wrong_value_is_never_repeated(tmp_path: Path) -> None:
    session = Session.of(Settings(f"{PREFIX}Promotes", tmp_path))
    record.failure(violated(check(session), SINE), "t", session)
    assert violated(check(session), SINE)


@pytest.mark.slow
def test_each_op_with_a_wrong_dtype_fails_and_others_do_not(tmp_path: Path) -> None:
    tests = ("suites/test_gradients.py::test_op", "suites/test_gradients.py::test_op_samples", "-n0")
    seen = run(tmp_path, *tests, framework=f"{PREFIX}Promotes")
    failing = {each.op for each in seen.report.failures if each.rule == "gradients/forward"}
    assert failing >= {"exp", "negative", "sum", "multiply"}
    assert {each.op for each in seen.report.failures if each.rule == "gradients/op"} == {"sin"}
    assert {each.op for each in seen.report.results if each.verdict == "pass"} >= {"mm"}
