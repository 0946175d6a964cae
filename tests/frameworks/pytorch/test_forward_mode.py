"""`torch.func.jvp` and `jacfwd`: gradients of functions, of any order, in forward mode."""

from __future__ import annotations

import pytest

from autograd_conformance.checking.check import first_violation, violation_of
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.frameworks.pytorch.modes.forward import (
    TorchForwardOverReverse,
    TorchJacfwd,
    TorchJvp,
    TorchReverseOverForward,
)
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.programs.observations import Returned
from tests.frameworks.test_functional import PRINTED, PROGRAMS, program_of

each_mode = pytest.mark.parametrize(
    "adapter", [TorchJvp, TorchJacfwd, TorchForwardOverReverse, TorchReverseOverForward]
)


@each_mode
def test_it_is_an_adapter(adapter: type[TorchJvp]):
    smoke(adapter())


@each_mode
@pytest.mark.parametrize("text", PROGRAMS)
def test_derivatives_of_every_order_are_right(adapter: type[TorchJvp], text: str):
    program, target = program_of(text), InProcess(adapter())
    assert violation_of(program, target) is None
    assert all(isinstance(seen.outcome, Returned) for seen in target.observe(program))


@each_mode
def test_a_cotangent_may_be_of_each_dtype(adapter: type[TorchJvp]):
    text = "a = leaf [1.5, 2]; b = astype_bfloat16 a; c = grad b wrt a with bf16 [3, 3.5] materialize=True"
    assert violation_of(program_of(text), InProcess(adapter())) is None


@each_mode
@pytest.mark.parametrize("text", PRINTED)
def test_printed_code_does_the_same(adapter: type[TorchJvp], text: str):
    program, target = program_of(text), InProcess(adapter())
    printed = target.observe_printed(program)
    assert first_violation(program, printed, target) is None
    assert all(isinstance(seen.outcome, Returned) for seen in printed)
