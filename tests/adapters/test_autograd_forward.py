"""HIPS autograd in forward mode."""

from __future__ import annotations

import pytest

pytest.importorskip("autograd")

from autograd_conformance.adapters.hips_autograd.forward import HipsAutogradJvp
from autograd_conformance.checking.check import first_violation, violation_of
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.programs.observations import Returned, lacks_kernel
from tests.frameworks.test_functional import PROGRAMS, program_of

AUTOGRAD = InProcess(HipsAutogradJvp())


def test_it_is_an_adapter():
    smoke(HipsAutogradJvp())


@pytest.mark.parametrize("text", PROGRAMS)
def test_derivatives_of_every_order_are_right(text: str):
    program = program_of(text)
    assert violation_of(program, AUTOGRAD) is None
    assert all(isinstance(seen.outcome, Returned) for seen in AUTOGRAD.observe(program))


@pytest.mark.parametrize("text", PROGRAMS)
def test_printed_code_does_the_same(text: str):
    program = program_of(text)
    printed = AUTOGRAD.observe_printed(program)
    assert first_violation(program, printed, AUTOGRAD) is None
    assert all(isinstance(seen.outcome, Returned) for seen in printed)


def test_an_op_without_a_rule_for_forward_mode_is_missing():
    program = program_of("a = leaf 2; b = sigmoid a; c = grad b wrt a materialize=True")
    assert lacks_kernel(*AUTOGRAD.observe(program))
    assert violation_of(program, AUTOGRAD) is None
