"""Optimizers that are resumed: steps are as usual, and each is taken by a new optimizer."""

from __future__ import annotations

import pytest
import torch

from autograd_conformance.checking.check import first_violation
from autograd_conformance.frameworks.pytorch.modes.resumed import TorchResumed
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.ops.optimizers import OPTIMIZERS
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.observations import Returned

STEPS = (
    "a = leaf [2, 3]; b = leaf [1]; c = multiply a b; backward c with [1, 2]; "
    "step a, b {0}; zero a to zeros; step a, b {0}"
)
SETTINGS = ["sgd lr=0.1 momentum=0.5", *(f"{name} lr=0.1" for name in OPTIMIZERS)]


@pytest.mark.parametrize("settings", SETTINGS)
def test_steps_are_as_usual(settings: str):
    target, program = InProcess(TorchResumed()), parse(STEPS.format(settings), VOCABULARY)
    for seen in (target.observe(program), target.observe_printed(program)):
        assert first_violation(program, seen, target) is None
        assert all(isinstance(each.outcome, Returned) for each in seen)


def test_each_step_is_taken_by_a_new_optimizer(monkeypatch: pytest.MonkeyPatch):
    stepped: list[torch.optim.Optimizer] = []
    step = torch.optim.SGD.step
    monkeypatch.setattr(torch.optim.SGD, "step", lambda self: stepped.append(self) or step(self))
    InProcess(TorchResumed()).observe(parse(STEPS.format("sgd lr=0.1 momentum=0.5"), VOCABULARY))
    first, second = stepped
    assert first is not second
    assert [group["lr"] for group in second.param_groups] == [0.1]
    assert all("momentum_buffer" in kept for kept in second.state.values())
