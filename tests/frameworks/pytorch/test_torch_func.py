"""`torch.func`: gradients of functions, of any order."""

from __future__ import annotations

import pytest

from autograd_conformance.checking.check import Check, first_violation, violation_of
from autograd_conformance.checking.session import FrameworkUnderTest, Settings
from autograd_conformance.checking.skips import NotApplicable
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.frameworks.pytorch.modes.functional import TorchFunc
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.programs.observations import Kind, Raised, Returned
from autograd_conformance.rules.catalogue import RULES
from suites import test_higher_ops
from tests.frameworks.test_functional import PRINTED, PROGRAMS, program_of

TARGET = InProcess(TorchFunc())


def test_it_is_an_adapter():
    smoke(TorchFunc())


@pytest.mark.parametrize("text", PROGRAMS)
def test_derivatives_of_every_order_are_right(text: str):
    program = program_of(text)
    assert violation_of(program, TARGET) is None
    assert all(isinstance(seen.outcome, Returned) for seen in TARGET.observe(program))


@pytest.mark.parametrize("text", PRINTED)
def test_printed_code_does_the_same(text: str):
    program = program_of(text)
    printed = TARGET.observe_printed(program)
    assert first_violation(program, printed, TARGET) is None
    assert all(isinstance(seen.outcome, Returned) for seen in printed)


def test_no_gradient_flows_through_what_is_detached():
    text = "a = leaf [2, 3]; b = exp a; c = detach b; d = multiply a c; e = grad d wrt a with [1, 1] materialize=True"
    assert violation_of(program_of(text), TARGET) is None


def test_a_cotangent_of_another_shape_is_refused():
    program = program_of("a = leaf [2, 3]; b = exp a; c = grad b wrt a with [1, 2, 3] materialize=True")
    outcome = TARGET.observe(program)[2].outcome
    assert isinstance(outcome, Raised)
    assert outcome.kind is Kind.COTANGENT_SHAPE
    assert violation_of(program, TARGET) is None


def test_no_rule_is_asked_of_it_that_is_about_what_leaves_hold():
    asked = {slug for slug, rule in RULES.items() if rule.needs <= TARGET.capabilities}
    assert not {slug for slug in asked if slug.startswith("accumulation/")}


def test_no_write_is_differentiated_on_it():
    with pytest.raises(NotApplicable, match="needs exp_, not claimed"):
        test_higher_ops.test_write_samples(Check(TARGET), FrameworkUnderTest(Settings("torch-func")), "exp_")


@pytest.mark.parametrize("short", ["bf16", "f16"])
def test_few_digits_are_judged_by_their_own_bounds(short: str):
    call = f"grad c wrt a with {short} [3, 5] materialize=True"
    text = f"a = leaf {short} [2, 0.25]; b = sin a; c = multiply b a; d = {call}"
    observation = TARGET.observe(program_of(text))
    assert first_violation(program_of(text), observation, TARGET) is None
    assert all(isinstance(seen.outcome, Returned) for seen in observation)
