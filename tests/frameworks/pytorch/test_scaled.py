"""Steps by a scaler of gradients: they are as usual, after one that is skipped."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from autograd_conformance.checking.check import first_violation
from autograd_conformance.frameworks.pytorch.modes.scaled import TorchScaled
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.observations import Returned
from tests.frameworks.pytorch.test_resumed import SETTINGS, STEPS


@pytest.mark.parametrize("settings", [*SETTINGS, "adam lr=0.1 fused=True", "sgd lr=0.1 foreach=True"])
def test_steps_are_as_usual(settings: str) -> None:
    target, program = InProcess(TorchScaled()), parse(STEPS.format(settings), VOCABULARY)
    for seen in (target.observe(program), target.observe_printed(program)):
        assert first_violation(program, seen, target) is None
        assert all(isinstance(each.outcome, Returned) for each in seen)


def test_a_step_is_skipped_and_the_next_one_unscaled(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    scale = torch.amp.GradScaler.step

    def step(self: torch.amp.GradScaler, optimizer: torch.optim.Optimizer) -> object:
        (leaf,) = optimizer.param_groups[0]["params"]
        before, held = leaf.tolist(), leaf.grad.tolist()
        scale(self, optimizer)
        seen.append((self.get_scale(), held, leaf.tolist() == before))
        return None

    monkeypatch.setattr(torch.amp.GradScaler, "step", step)
    program = parse("a = leaf [2, 3]; b = multiply a a; backward b with [1, 1]; step a sgd lr=0.5", VOCABULARY)
    InProcess(TorchScaled()).observe(program)
    assert seen == [(1024.0, [float("inf")] * 2, True), (512.0, [2048.0, 3072.0], False)]


def test_a_step_without_gradients_changes_nothing() -> None:
    target, program = InProcess(TorchScaled()), parse("a = leaf [2, 3]; step a adam lr=0.5", VOCABULARY)
    assert first_violation(program, target.observe(program), target) is None
