"""Custom functions: their derivatives are right, and programs run through them, compiled or not."""

from __future__ import annotations

import pytest
import torch

from autograd_conformance.checking.check import first_violation
from autograd_conformance.frameworks.pytorch.eager import TorchEager
from autograd_conformance.frameworks.pytorch.modes import custom
from autograd_conformance.frameworks.pytorch.modes.custom import TorchCompileCustom, TorchCustom
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.observations import Returned

OPERANDS = {
    custom.Multiply: [(2, 3), (3,)],
    custom.Add: [(2, 3), (3,)],
    custom.Exp: [(2, 3)],
    custom.Sine: [(2, 3)],
    custom.SignAndLog: [(2, 2)],
    custom.Product: [(2, 3), (3, 2)],
}
PROGRAM = parse(
    "a = leaf [[2, 1], [0.5, 3]]; b = leaf f32 [1, 2]; c = multiply a b; d = sin b; write d mul_scalar_ scalar=0.5; "
    "e = exp c; f, g = slogdet a; h = add e d; write h exp_; i = multiply h g; "
    "j = mm i a; backward j with [[1, 2], [3, 4]] retain=True; k = grad j wrt a with [[1, 0], [0, 1]]",
    VOCABULARY,
)


@pytest.mark.parametrize("function", OPERANDS, ids=lambda each: each.__name__)
def test_a_function_has_the_derivatives_that_it_states(function: type[torch.autograd.Function]):
    torch.manual_seed(0)
    given = [torch.rand(shape, dtype=torch.float64) + torch.eye(*shape[-2:]) if len(shape) > 1 else
             torch.rand(shape, dtype=torch.float64) for shape in OPERANDS[function]]  # fmt: skip
    given = [x.requires_grad_() for x in given]
    assert torch.autograd.gradcheck(function.apply, given)
    assert torch.autograd.gradgradcheck(function.apply, given)


@pytest.mark.parametrize("write", [lambda x: custom.ExpInPlace.apply(x), lambda x: custom.ScaleInPlace.apply(x, 3.0)])
def test_a_write_has_the_derivative_that_it_states(write):
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: write(x.clone()), [x])
    y = x.clone()
    assert write(y) is y and y._version > 0


@pytest.mark.parametrize("adapter", [TorchCustom, TorchCompileCustom])
def test_programs_run_through_the_functions(adapter: type[TorchCustom]):
    target = InProcess(adapter())
    for seen in (target.observe(PROGRAM), target.observe_printed(PROGRAM)):
        assert first_violation(PROGRAM, seen, target) is None
        assert all(isinstance(each.outcome, Returned) for each in seen)


def test_every_function_is_used(monkeypatch: pytest.MonkeyPatch):
    called = set()
    for each in custom.FUNCTIONS:
        monkeypatch.setattr(
            each, "apply", lambda *given, each=each, apply=each.apply: called.add(each) or apply(*given)
        )
    InProcess(TorchCustom()).observe(PROGRAM)
    assert called == {*custom.FUNCTIONS}


def test_a_product_is_differentiated_under_the_autocast_of_its_forward():
    program = parse(
        "a = leaf f32 [[1.1, 2], [3, 4.3]]; b = leaf f32 [[1, -1.7], [2, 3]]; autocast: c = mm a b; "
        "d = astype_float32 c; backward d with f32 [[1.3, 2], [3, 4]]",
        VOCABULARY,
    )
    seen = InProcess(TorchCustom()).observe(program)
    plain = InProcess(TorchEager()).observe(program)
    for one, other in zip(seen[-1].gradients.values(), plain[-1].gradients.values(), strict=True):
        assert one is not None and other is not None and one.value.tolist() == other.value.tolist()
