"""PyTorch with two things around each program, one inside the other, each of which leaves gradients as they are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from autograd_conformance.frameworks.pytorch.modes.around import (
    Surrounding,
    TorchAnomaly,
    TorchAround,
    TorchAutocastOff,
    TorchDeterministic,
    TorchDispatch,
    TorchDualLevel,
    TorchFunctions,
    TorchInferenceOff,
    TorchOneThread,
    TorchSavedClones,
)

COMPOSING: tuple[type[TorchAround], ...] = (
    TorchAnomaly, TorchAutocastOff, TorchDeterministic, TorchDispatch, TorchDualLevel, TorchFunctions,
    TorchInferenceOff, TorchOneThread, TorchSavedClones,
)  # fmt: skip
"""The modes of which two are combined: any two of them compose, in either order."""


class TorchTwoContexts(TorchAround):
    """PyTorch inside of the context managers of two modes. Each program has its pair, which its first instruction
    decides.
    """

    name = "torch-two-contexts"

    def alternatives(self) -> Sequence[Sequence[Surrounding]]:
        """Returns the context managers of each pair of modes, in either order."""
        return [(*outer.surroundings, *inner.surroundings) for outer, inner in permutations(COMPOSING, 2)]
