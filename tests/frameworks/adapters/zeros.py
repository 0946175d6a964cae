"""Frameworks whose leaves start with a gradient of zeros, with and without faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.programs.capabilities import Capability, Traits
from examples.tiny import Tensor
from examples.tiny_adapter import Tiny
from tests.frameworks.adapters.few import OPS as FEW

WITH_ZEROS = replace(Tiny.dialect, clear_to_zeros="{leaf}.grad = np.zeros_like({leaf}.data)")
"""How programs of the tiny autograd are printed if leaves are cleared to zeros."""


class Zeros(Tiny):
    """Every leaf that requires grad starts with zeros, and is cleared to zeros."""

    name = "zeros"
    capabilities = Tiny.capabilities - {Capability.ZERO_TO_NONE} | {Capability.ZERO_TO_ZEROS}
    traits = Traits(begins_with_zeros=True)
    dialect = WITH_ZEROS

    def leaf(self, data: np.ndarray, requires_grad: bool) -> Tensor:
        made = super().leaf(data, requires_grad)
        made.grad = np.zeros_like(data) if requires_grad else None
        return made

    def zero_grad(self, leaves: Sequence[Tensor], set_to_none: bool) -> None:
        for leaf in leaves:
            leaf.grad = np.zeros_like(leaf.data)


class Everywhere(Zeros):
    """Leaves that do not require grad store zeros, too."""

    name = "everywhere"

    def leaf(self, data: np.ndarray, requires_grad: bool) -> Tensor:
        made = super().leaf(data, requires_grad)
        made.grad = np.zeros_like(data)
        return made


class Unsaid(Zeros):
    """The same without the trait."""

    traits = Traits()


class Untrue(Tiny):
    """The trait is declared, but leaves start with None."""

    traits = Traits(begins_with_zeros=True)


class Ones(Zeros):
    """Leaves start with ones."""

    def leaf(self, data: np.ndarray, requires_grad: bool) -> Tensor:
        made = super().leaf(data, requires_grad)
        made.grad = np.ones_like(data)
        return made


class Placeholder(Zeros):
    """Leaves start with a word in the place of a gradient."""

    def gradient(self, leaf: Tensor) -> object:
        return super().gradient(leaf) if np.any(leaf.grad) else "none yet"


class Loses(Zeros):
    """A call clears the gradients of all leaves that it does not reach."""

    name = "loses"

    def reset(self) -> None:
        self.made: list[Tensor] = []

    def leaf(self, data: np.ndarray, requires_grad: bool) -> Tensor:
        self.made.append(super().leaf(data, requires_grad))
        return self.made[-1]

    def backward(
        self, roots: Sequence[Tensor], cotangents: Sequence[np.ndarray | None], retain_graph: bool | None
    ) -> None:
        before = [leaf.grad for leaf in self.made]
        super().backward(roots, cotangents, retain_graph)
        for leaf, old in zip(self.made, before, strict=True):
            leaf.grad = None if leaf.grad is old else leaf.grad


class Overwrites(Zeros):
    """A call replaces the gradient that a leaf stores."""

    name = "overwrites"

    def backward(
        self, roots: Sequence[Tensor], cotangents: Sequence[np.ndarray | None], retain_graph: bool | None
    ) -> None:
        for leaf in self.reached(roots[0]):
            leaf.grad = None
        super().backward(roots, cotangents, retain_graph)

    def reached(self, value: Tensor) -> set[Tensor]:
        return {value} if value.pull is None else set().union(*map(self.reached, value.inputs))


class TorchZeros(Torch):
    """PyTorch with a few ops, and with leaves that start with zeros."""

    name = "torch with zeros"
    capabilities = Torch.capabilities - {Capability.ZERO_TO_NONE}
    ops = FEW
    traits = Traits(begins_with_zeros=True)

    def leaf(self, data: np.ndarray, requires_grad: bool) -> torch.Tensor:
        made = super().leaf(data, requires_grad)
        made.grad = torch.zeros_like(made) if requires_grad else None
        return made
