"""Gradients that values retain, in calls of the functional form: which rule a wrong one violates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from torch import Tensor

from autograd_conformance.checking.check import violation_of
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.rules.violations.observed import OtherGradient
from autograd_conformance.rules.violations.shared import NoGradient, Place

RETAINED = "a = leaf [1, 2]; b = exp a; retain b; c = sin b; d = grad c wrt a with [3, 4]"


class Remembers(Torch):
    """Does as PyTorch does, and remembers which values retain their gradients."""

    def reset(self) -> None:
        super().reset()
        self.retaining: list[Tensor] = []

    def retain_grad(self, tensor: Tensor) -> None:
        super().retain_grad(tensor)
        self.retaining.append(tensor)


class Empties(Remembers):
    """A functional call leaves no gradient in a value that retains it."""

    def grad(self, *args: Any, **options: Any) -> Sequence[Tensor | None]:
        found = super().grad(*args, **options)
        for each in self.retaining:
            each.grad = None
        return found


class Doubles(Remembers):
    """A functional call leaves twice the gradient in a value that retains it."""

    def grad(self, *args: Any, **options: Any) -> Sequence[Tensor | None]:
        found = super().grad(*args, **options)
        for each in self.retaining:
            each.grad = None if each.grad is None else each.grad * 2
        return found


@pytest.mark.parametrize(
    ("framework", "rule", "observed"),
    [
        (Torch(), None, None),
        (Empties(), "hooks/retained", NoGradient()),
        (Doubles(), "hooks/retained", OtherGradient(Place.LEAF)),
    ],
)
def test_a_functional_call_fills_what_retains_its_gradient(
    framework: Torch, rule: str | None, observed: object
) -> None:
    violation = violation_of(parse(RETAINED), InProcess(framework))
    assert (violation and violation.rule) == rule
    assert (violation and violation.observed) == observed
