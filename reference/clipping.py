"""Clipped gradients, by the definitions that PyTorch's documentation gives of clipping by norm and by value."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from autograd_conformance.programs.language import Clip, Ref
from autograd_conformance.reference.staging.derivatives import Array

SMALL = 1e-6
"""What is added to the norm before the bound is divided by it."""


def clipped(step: Clip, held: Mapping[Ref, Array]) -> dict[Ref, Array]:
    """What leaves hold after their gradients were clipped."""
    if step.kind == "value":
        return {leaf: np.clip(gradient, -step.bound, step.bound) for leaf, gradient in held.items()}
    total = np.sqrt(sum(float((gradient**2).sum()) for gradient in held.values()))
    factor = min(1.0, step.bound / (total + SMALL))
    return {leaf: gradient * factor for leaf, gradient in held.items()}
