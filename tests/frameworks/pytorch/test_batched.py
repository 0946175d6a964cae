"""Batches of derivatives: `torch.vmap`, `torch.func.jacrev`, and `is_grads_batched`."""

from __future__ import annotations

import pytest
import torch

from autograd_conformance.checking.check import first_violation, violation_of
from autograd_conformance.frameworks.pytorch.modes.batched import (
    TorchBatched,
    TorchJacrev,
    TorchPerSample,
    TorchReverseOverVmap,
    TorchVmap,
    batched_grad,
    by_batch,
    by_jacrev,
    by_samples,
    by_vmap,
)
from autograd_conformance.frameworks.pytorch.modes.forward import by_jacfwd, by_jvp
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.programs.observations import Returned
from tests.frameworks.test_functional import PRINTED, PROGRAMS, program_of

MODES = [TorchVmap, TorchPerSample, TorchReverseOverVmap, TorchJacrev, TorchBatched]
WAYS = [by_jvp, by_jacfwd, by_vmap, by_samples, by_batch, by_jacrev]

each_mode = pytest.mark.parametrize("adapter", MODES)


@each_mode
@pytest.mark.parametrize("text", PROGRAMS)
def test_derivatives_of_every_order_are_right(adapter: type, text: str):
    program, target = program_of(text), InProcess(adapter())
    assert violation_of(program, target) is None
    assert all(isinstance(seen.outcome, Returned) for seen in target.observe(program))


@each_mode
@pytest.mark.parametrize("text", PRINTED)
def test_printed_code_does_the_same(adapter: type, text: str):
    program, target = program_of(text), InProcess(adapter())
    printed = target.observe_printed(program)
    assert first_violation(program, printed, target) is None
    assert all(isinstance(seen.outcome, Returned) for seen in printed)


@pytest.mark.parametrize("way", WAYS)
def test_each_way_takes_inputs_without_elements(way):
    empty, full = torch.ones(0, 3), torch.ones(3)
    found = way(lambda a, b: a * b, empty, full)(torch.ones(0, 3))
    torch.testing.assert_close(found, (torch.zeros(0, 3), torch.zeros(3)))


@pytest.mark.parametrize("way", WAYS)
def test_each_way_gives_the_gradients_of_vjp(way):
    def function(a, b):
        return a @ b, torch.exp(a).sum()

    inputs = torch.arange(6.0).reshape(2, 3) / 4, torch.arange(3.0) - 1
    cotangents = torch.tensor([1.0, -2.0]), torch.tensor(0.5)
    expected = torch.func.vjp(function, *inputs)[1](cotangents)
    torch.testing.assert_close(way(function, *inputs)(cotangents), expected)


def test_gradients_are_computed_in_batches(monkeypatch: pytest.MonkeyPatch):
    batches, grad = [], torch.autograd.grad

    def recorded(*given, **options):
        if options.get("is_grads_batched"):
            batches.extend(batch.tolist() for batch in given[2])
        return grad(*given, **options)

    monkeypatch.setattr(torch.autograd, "grad", recorded)
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    (found,) = batched_grad([a * a], [a], [torch.tensor([3.0, 4.0])])
    assert found.tolist() == [6.0, 16.0]
    assert batches == [[[6.0, 8.0], [3.0, 4.0]]]


def test_a_call_without_a_cotangent_is_a_usual_one():
    a = torch.tensor(3.0, requires_grad=True)
    assert batched_grad([a * a], [a])[0].item() == 6
