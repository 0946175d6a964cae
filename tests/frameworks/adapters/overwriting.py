"""Frameworks whose calls replace `.grad`, or whose leaves lose `.grad` when they are used, with and without the
trait.
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
    """The trait says that calls replace gradients, but they add."""

    capabilities = Tiny.capabilities - {Capability.ACCUMULATES}


class Forgets(Tiny):
    """An op on a leaf clears the gradient that the leaf stores."""

    traits = Traits(use_clears=True)

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        for each in operands:
            each.grad = None
        return super().apply(op, operands, attrs)


class ForgetsNothing(Tiny):
    """The trait says that use clears gradients, but nothing does."""

    traits = Traits(use_clears=True)


class Unsaid(Forgets):
    """The same without the trait."""

    traits = Traits()
