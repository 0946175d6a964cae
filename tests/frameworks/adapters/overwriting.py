"""Frameworks whose calls replace what leaves hold, or whose leaves lose it when they are used, and what goes wrong
with them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autograd_conformance.programs.capabilities import Capability, Traits
from autograd_conformance.programs.language import Attrs
from examples.tiny import Tensor, history
from examples.tiny_adapter import Tiny


class Replaces(Tiny):
    """A call replaces the gradients of the leaves that it reaches."""

    name = "replaces"
    capabilities = Tiny.capabilities - {Capability.ACCUMULATES}

    def backward(
        self, roots: Sequence[Tensor], cotangents: Sequence[np.ndarray | None], retain_graph: bool | None
    ) -> None:
        for each in history(roots[0]):
            each.grad = None
        super().backward(roots, cotangents, retain_graph)


class Adds(Tiny):
    """It says that calls replace, and they add."""

    capabilities = Tiny.capabilities - {Capability.ACCUMULATES}


class Forgets(Tiny):
    """Whatever is computed from a leaf takes the gradient that the leaf holds."""

    traits = Traits(use_clears=True)

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        for each in operands:
            each.grad = None
        return super().apply(op, operands, attrs)


class Unsaid(Forgets):
    """It does not say so."""

    traits = Traits()
