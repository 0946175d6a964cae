"""The tests that run fixed programs run none that needs a feature which the framework does not claim."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable

import pytest

from autograd_conformance.checking.check import Check
from autograd_conformance.checking.session import FrameworkUnderTest, Settings
from autograd_conformance.checking.skips import NotApplicable, NothingDrawn
from autograd_conformance.frameworks.loading.registry import load
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.programs.capabilities import needs
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.observations import Observation
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.strategies.building import alphabet
from suites import test_errors, test_higher_ops, test_optimizers, test_views, test_write_pairs

FIXED = [
    (test_errors.test_each_way, "way"),
    (test_higher_ops.test_op_samples, "op"),
    (test_higher_ops.test_third_samples, "op"),
    (test_higher_ops.test_write_samples, "write"),
    (test_optimizers.test_settings, "name"),
    (test_views.test_written, "op"),
    (test_write_pairs.test_op, "op"),
    (test_write_pairs.test_write, "write"),
]
SAMPLES = {"op": ("exp", "matmul", "reshape", "select"), "write": ("exp_", "mul_")}


class Claiming(InProcess):
    """A target that fails for a program which needs more than it claims."""

    def observe(self, program: Program) -> Observation:
        assert needs(program) <= self.capabilities, f"{needs(program) - self.capabilities}: {program}"
        return super().observe(program)


def values(test: Callable[..., None], parameter: str) -> list[str]:
    """The values of a test's parameter, or a sample of them."""
    if parameter in SAMPLES:
        return [*SAMPLES[parameter]]
    marks = [mark for mark in test.pytestmark if mark.name == "parametrize"]  # type: ignore[attr-defined]
    return [str(getattr(value, "values", (value,))[0]) for value in marks[0].args[1]]


@pytest.mark.parametrize("framework", ["torch-func", "torch-jvp", "autograd"])
@pytest.mark.parametrize(("test", "parameter"), FIXED, ids=lambda each: getattr(each, "__name__", each))
def test_no_program_needs_what_is_not_claimed(framework: str, test: Callable[..., None], parameter: str):
    prepared = FrameworkUnderTest(Settings(framework))
    check = Check(Claiming(load(framework)), known=prepared.known)
    (rule,) = (mark.args[0] for mark in test.pytestmark if mark.name == "rule")  # type: ignore[attr-defined]
    if not RULES[rule].needs <= check.target.capabilities:
        return  # a run leaves out the tests of a rule that does not apply
    assert {*inspect.signature(test).parameters} == {"check", "prepared", parameter}
    with alphabet.using(prepared.alphabet):
        for value in values(test, parameter):
            with contextlib.suppress(NotApplicable, NothingDrawn):
                test(check, prepared, value)
