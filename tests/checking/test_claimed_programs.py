"""The tests that run fixed programs run none that needs a feature which the framework does not claim."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator

import pytest

import suites
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

OPS = ("exp", "matmul", "reshape", "select")
"""The ops that are tried of a test with all ops."""

SAMPLES = {*OPS, "exp_", "mul_", "abs", "max"}
"""The ops and writes that are tried of a test's own list, if it has one of them."""


def fixed_tests() -> Iterator[tuple[Callable[..., None], str]]:
    """Yields the tests of the suites that run fixed programs, each with its parameter."""
    for each in pkgutil.iter_modules(suites.__path__, "suites."):
        for name, test in vars(importlib.import_module(each.name)).items():
            taken = {*inspect.signature(test).parameters} if name.startswith("test_") else set()
            if {"check", "prepared"} < taken and len(taken) == 3:
                yield test, (taken - {"check", "prepared"}).pop()


FIXED = [*fixed_tests()]


class Claiming(InProcess):
    """A target that fails for a program which needs more than it claims."""

    def observe(self, program: Program) -> Observation:
        assert needs(program) <= self.capabilities, f"{needs(program) - self.capabilities}: {program}"
        return super().observe(program)


def values(test: Callable[..., None]) -> list[str]:
    """The values of a test's parameter, or a sample of them."""
    marks = [mark for mark in test.pytestmark if mark.name == "parametrize"]  # type: ignore[attr-defined]
    found = [getattr(value, "values", (value,))[0] for value in marks[0].args[1]] if marks else [*OPS]
    return [value for value in found if value in SAMPLES] or found


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
        for value in values(test):
            with contextlib.suppress(NotApplicable, NothingDrawn):
                test(check, prepared, value)
