"""A framework that does not report the memory of its gradients may share it all the same, and is judged only by
what is right either way.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from autograd_conformance.checking.check import first_violation
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.rules.judge.judgement import waives_nothing
from autograd_conformance.rules.violations.violation import Violation


class Unlocated(Torch):
    """PyTorch, without a report of objects and memory."""

    capabilities = Torch.capabilities - {Capability.MEMORY, Capability.IDENTITY, Capability.ADDS_IN_PLACE}


SHARED = "a = leaf 1.5; b = leaf 2; backward b with 2.5; c = held b; assign a c; "
PROGRAMS = {
    "unreached": SHARED + "d = multiply a a; backward d with 3",
    "twice": SHARED + "d = multiply a a; backward d with 3 retain=True; backward d with 3",
    "both": SHARED + "d = multiply a b; backward d with 3 retain=True; backward d with 3",
    "zeros": SHARED + "zero b to zeros",
    "clipped": SHARED + "clip_grad b value 1.0",
    "duplicates": "a = leaf [1, 2]; b, c = grad a wrt a, a with [3, 4]; write c floor_; d = sin b",
}


def violation(adapter: Torch, text: str) -> Violation | None:
    target, program = InProcess(adapter), parse(text)
    return first_violation(program, target.observe(program), target, waives_nothing)


class WithoutObjects(Torch):
    """PyTorch, with a report of memory, but of no objects: a binding makes a new one each time."""

    capabilities = Torch.capabilities - {Capability.IDENTITY, Capability.ADDS_IN_PLACE}


@pytest.mark.parametrize("adapter", [Unlocated, WithoutObjects])
@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_shared_memory_that_nobody_sees_is_no_violation(text: str, adapter: type[Torch]) -> None:
    assert violation(adapter(), text) is None


class AddsToEach(Unlocated):
    """A call adds its gradient to the other leaves that hold one as well."""

    def reset(self) -> None:
        super().reset()
        self.leaves: list[torch.Tensor] = []

    def tensor(self, *given: Any, **named: Any) -> torch.Tensor:
        self.leaves.append(super().tensor(*given, **named))
        return self.leaves[-1]

    def backward(self, *given: Any, **named: Any) -> None:
        super().backward(*given, **named)
        for leaf in self.leaves:
            if leaf.grad is not None:
                leaf.grad += 1


@pytest.mark.parametrize(
    "text", ["a = leaf 1; b = leaf 2; backward b with 1; c = sin a; backward c", "a = leaf 1; backward a with 1"]
)
def test_what_shares_nothing_is_judged(text: str) -> None:
    found = violation(AddsToEach(), text)
    assert found is not None and found.rule.startswith(("accumulation/", "gradients/"))
