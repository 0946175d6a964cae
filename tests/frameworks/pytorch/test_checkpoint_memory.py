"""Checkpoints reduce memory: fewer tensors are alive between a region and its backward call, measured by PyTorch's
profiler.
"""

from __future__ import annotations

import pytest
import torch

from autograd_conformance.frameworks.pytorch.modes.checkpoints import (
    TorchCheckpoint,
    TorchCheckpointCaptured,
    TorchCheckpointReentrant,
)
from autograd_conformance.frameworks.pytorch.modes.regions import TorchRegions

STEPS, ELEMENTS = 12, 1 << 14
SOURCE = "def region(x0):\n" + "    x0 = torch.exp(x0 * 0.5)\n" * STEPS + "    return (x0,)"


def kept(adapter: TorchRegions) -> tuple[float, torch.Tensor]:
    """Number of tensors that are alive after a region, besides its result; and the gradient of a call through it."""
    leaf = torch.zeros(ELEMENTS, dtype=torch.float64, requires_grad=True)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        (result,) = adapter.unit(SOURCE, [leaf])
    allocated = sum(event.self_cpu_memory_usage for event in profile.key_averages())  # what was freed counts less
    result.backward(torch.ones_like(result))
    assert leaf.grad is not None
    return allocated / leaf.nbytes - 1, leaf.grad


@pytest.mark.parametrize("make", [TorchCheckpoint, TorchCheckpointCaptured, TorchCheckpointReentrant])
def test_a_checkpoint_keeps_less_and_gives_the_same_gradient(make: type[TorchRegions]):
    everything, gradient = kept(TorchRegions())
    little, same = kept(make())
    assert everything > STEPS - 2
    assert little < 1
    assert torch.equal(gradient, same)
