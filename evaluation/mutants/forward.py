"""Mutants of forward mode: PyTorch's `torch.func.jacfwd` whose ops, or whose transform, lose or mix tangents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import torch

from autograd_conformance.frameworks.pytorch.modes.forward import TorchJacfwd
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Attrs
from evaluation.mutants.mutant import UNSOUND, Faulty, unsound

Tensors: TypeAlias = Sequence[torch.Tensor]
Differentiated: TypeAlias = Callable[..., tuple[torch.Tensor, ...]]


class Forward(Faulty, TorchJacfwd):
    """Forward mode without the ops that it gets wrong itself. Subclasses change the operands or the results of ops, or
    the gradients of calls.

    The changes make new tensors, so that memory, views and layout are not claimed.
    """

    framework = "torch-jacfwd"
    ops = TorchJacfwd.ops - UNSOUND - unsound("torch-jacfwd")
    capabilities = TorchJacfwd.capabilities - {Capability.MEMORY, Capability.VIEWS, Capability.LAYOUT}

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.depth = 0
        """The number of calls that are running, each inside of the one before."""

    def operands(self, given: Tensors) -> Tensors:
        """The operands that an op computes with; here those that it is given."""
        return given

    def results(self, made: Tensors, given: Tensors) -> Tensors:
        """The results that an op returns; here those that it computed."""
        return made

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        """Apply an op to changed operands, and change its results."""
        return self.results(super().apply(op, self.operands(operands), attrs), operands)

    def gradients(self, function: Differentiated, values: Tensors, cotangents: Sequence[np.ndarray]) -> Tensors:
        """The gradients of a call; here the right ones."""
        return super().vjp(function, values, cotangents)

    def vjp(self, function: Differentiated, values: Tensors, cotangents: Sequence[np.ndarray]) -> Tensors:
        """The gradients of a call, whose `depth` is known meanwhile."""
        self.depth += 1
        try:
            return self.gradients(function, values, cotangents)
        finally:
            self.depth -= 1


class HonestForward(Forward):
    """Has no fault: every failure is a false alarm."""


def bent(value: torch.Tensor, change: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """The same value, whose tangent is passed through a linear function."""
    if not value.is_floating_point():
        return value
    still = value.detach()
    return still + change(value - still)


def dropped(value: torch.Tensor) -> torch.Tensor:
    """The same value without a tangent."""
    return value.detach()


# --- ops --------------------------------------------------------------------------------------------------------------


class TangentOfFirstOperand(Forward):
    """An op uses the tangent of its first operand only."""

    killed_by = ("gradients/op", "gradients/graph")

    def operands(self, given: Tensors) -> Tensors:
        return [*given[:1], *map(dropped, given[1:])]


class TangentOfOperandOnce(Forward):
    """An op that takes a value twice uses its tangent once."""

    killed_by = ("gradients/same-argument",)

    def operands(self, given: Tensors) -> Tensors:
        return [dropped(x) if any(x is other for other in given[:k]) else x for k, x in enumerate(given)]


class TangentOfFirstResult(Forward):
    """Only the first result of an op with several results has a tangent."""

    killed_by = ("gradients/several-results", "gradients/op")

    def results(self, made: Tensors, given: Tensors) -> Tensors:
        return [*made[:1], *map(dropped, made[1:])]


class TangentDonated(Forward):
    """The third op that takes a value gets no tangent, because the second one used up its memory."""

    killed_by = ("gradients/fan-out", "gradients/graph")

    def operands(self, given: Tensors) -> Tensors:
        self.uses.update({id(x) for x in given})
        self.alive.extend(given)
        return [dropped(x) if self.uses[id(x)] > 2 else x for x in given]

    def gradients(self, function: Differentiated, values: Tensors, cotangents: Sequence[np.ndarray]) -> Tensors:
        self.uses: Counter[int] = Counter()
        self.alive: list[torch.Tensor] = []
        return super().gradients(function, values, cotangents)

    def reset(self) -> None:
        super().reset()
        self.uses, self.alive = Counter(), []


class TangentTransposed(Forward):
    """The tangent of a square matrix that is not contiguous is read in the order of memory."""

    killed_by = ("gradients/op", "gradients/graph")

    def operands(self, given: Tensors) -> Tensors:
        return [bent(x, lambda d: d.mT) if self.turned(x) else x for x in given]

    @staticmethod
    def turned(x: torch.Tensor) -> bool:
        """Whether a value is a square matrix that is not contiguous."""
        return x.ndim == 2 and x.shape[0] == x.shape[1] and not x.is_contiguous()


class TangentOfStretchedRow(Forward):
    """Where an op repeats an operand over its first dimension, only the first row gets the operand's tangent."""

    killed_by = ("gradients/op", "gradients/graph")

    def results(self, made: Tensors, given: Tensors) -> Tensors:
        stretched = len(given) > 1 and len(made) == 1 and made[0].ndim > min(x.ndim for x in given)
        return [bent(x, self.first_row) for x in made] if stretched else made

    @staticmethod
    def first_row(tangent: torch.Tensor) -> torch.Tensor:
        """A tangent that is 0 after its first row."""
        return torch.cat([tangent[:1], torch.zeros_like(tangent[1:])])


class TangentRounded(Forward):
    """Where an op has operands of two dtypes, the tangent of the wider one is rounded to the other."""

    killed_by = ("gradients/graph", "gradients/op")

    def operands(self, given: Tensors) -> Tensors:
        mixed = len({x.dtype for x in given if x.is_floating_point()}) > 1
        return [bent(x, lambda d: (d * 1.1).to(torch.float32).to(d.dtype) / 1.1) if mixed else x for x in given]


class TangentOfDetached(Forward):
    """A detached value keeps its tangent."""

    killed_by = ("detach/blocks",)

    def detach(self, value: torch.Tensor) -> torch.Tensor:
        return value.clone()


# --- calls ------------------------------------------------------------------------------------------------------------


class NestedCallIsConstant(Forward):
    """A derivative inside of a derivative counts as a constant."""

    killed_by = ("higher/differentiable", "higher/op", "functional/value")

    def gradients(self, function: Differentiated, values: Tensors, cotangents: Sequence[np.ndarray]) -> Tensors:
        found = super().gradients(function, values, cotangents)
        return [dropped(x) for x in found] if self.depth > 1 else found


class NestedTangentHalved(Forward):
    """A derivative inside of a derivative has half of its tangent."""

    killed_by = ("higher/differentiable", "higher/op", "functional/value")

    def gradients(self, function: Differentiated, values: Tensors, cotangents: Sequence[np.ndarray]) -> Tensors:
        found = super().gradients(function, values, cotangents)
        return [bent(x, lambda d: d / 2) for x in found] if self.depth > 1 else found


class ThirdDerivativeIsConstant(Forward):
    """A second derivative inside of a third one counts as a constant."""

    killed_by = ("higher/op-third", "functional/value", "higher/differentiable")

    def gradients(self, function: Differentiated, values: Tensors, cotangents: Sequence[np.ndarray]) -> Tensors:
        found = super().gradients(function, values, cotangents)
        return [dropped(x) for x in found] if self.depth == 2 and self.nested else found

    @property
    def nested(self) -> bool:
        """Whether the call that is running has called another one."""
        return self.deepest > self.depth

    def vjp(self, function: Differentiated, values: Tensors, cotangents: Sequence[np.ndarray]) -> Tensors:
        self.deepest = max(self.deepest, self.depth + 1) if self.depth else 1
        return super().vjp(function, values, cotangents)

    def reset(self) -> None:
        super().reset()
        self.deepest = 0


class ChunkRepeats(Forward):
    """Derivatives along the fifth and later elements are those along the first ones: chunks of four elements."""

    killed_by = ("functional/value", "gradients/graph", "gradients/op")

    def gradients(self, function: Differentiated, values: Tensors, cotangents: Sequence[np.ndarray]) -> Tensors:
        found = super().gradients(function, values, cotangents)
        return [x.reshape(-1)[torch.arange(x.numel()) % 4].reshape(x.shape) for x in found]


class JacobianTransposed(Forward):
    """The Jacobian of a function from a vector to a vector of the same length is transposed."""

    killed_by = ("gradients/op", "gradients/graph")

    def gradients(self, function: Differentiated, values: Tensors, cotangents: Sequence[np.ndarray]) -> Tensors:
        (cotangent, *others), (x, *more) = cotangents, values
        if others or more or x.ndim != 1 or cotangent.shape != tuple(x.shape):
            return super().gradients(function, values, cotangents)
        (jacobian,) = torch.func.jacfwd(function)(x)
        return [(jacobian @ torch.from_numpy(cotangent.copy()).to(jacobian.dtype)).to(x.dtype)]


class DirectionOfFirstInput(Forward):
    """The derivative along a later input of the first one's shape is taken along the first one."""

    killed_by = ("functional/value", "gradients/op", "gradients/graph")

    def gradients(self, function: Differentiated, values: Tensors, cotangents: Sequence[np.ndarray]) -> Tensors:
        found = super().gradients(function, values, cotangents)
        return [found[0] if x.shape == found[0].shape and x.dtype == found[0].dtype else x for x in found]


class DerivativeOfFirstRoot(Forward):
    """A call with several roots differentiates only the first."""

    killed_by = ("gradients/several-roots", "functional/value")

    def gradients(self, function: Differentiated, values: Tensors, cotangents: Sequence[np.ndarray]) -> Tensors:
        return super().gradients(lambda *given: function(*given)[:1], values, cotangents[:1])


class LinearisedOnce(Forward):
    """A second call with inputs of the same shapes gets the gradients of the first."""

    killed_by = ("functional/value", "gradients/graph")

    def gradients(self, function: Differentiated, values: Tensors, cotangents: Sequence[np.ndarray]) -> Tensors:
        key = (self.depth, *((x.shape, x.dtype) for x in values), *(c.shape for c in cotangents))
        if key not in self.kept:
            self.kept[key] = super().gradients(function, values, cotangents)
        return self.kept[key]

    def reset(self) -> None:
        super().reset()
        self.kept: dict[object, Tensors] = {}


class ScalarGradientIsVector(Forward):
    """The gradient of a scalar has one dimension."""

    killed_by = ("functional/value", "gradients/form")

    def gradients(self, function: Differentiated, values: Tensors, cotangents: Sequence[np.ndarray]) -> Tensors:
        found = super().gradients(function, values, cotangents)
        return [x.reshape(1) if x.ndim == 0 and self.depth == 1 else x for x in found]


class CallMovesInput(Forward):
    """A call leaves its first input moved along the direction of the last derivative."""

    killed_by = ("gradients/op", "functional/value", "gradients/graph")

    def gradients(self, function: Differentiated, values: Tensors, cotangents: Sequence[np.ndarray]) -> Tensors:
        found = super().gradients(function, values, cotangents)
        if self.depth == 1 and values[0].numel():
            values[0].view(-1)[-1] += 1
        return found
