"""Correct frameworks with few ops and few claims, each of which must get a verdict; some have a fault.

They are parts of the example with some more ops: `tests.frameworks.adapters.small:AddSumExp`.
"""

from __future__ import annotations

import unittest
from collections.abc import Callable, Sequence

import numpy as np

from autograd_conformance.frameworks.running.functional import Functional
from autograd_conformance.programs.capabilities import Capability, Traits
from autograd_conformance.programs.language import Attrs
from examples import tiny
from examples.tiny_adapter import CAPABILITIES, Tiny

LEAST = frozenset({Capability.IMPERATIVE, Capability.ACCUMULATES})
"""A backward call that accumulates into leaves, and nothing else."""


def relu(a: tiny.Tensor) -> tiny.Tensor:
    """The positive part."""
    return tiny.record(np.maximum(a.data, 0), (a,), lambda g: (g * (a.data > 0),))


def matmul(a: tiny.Tensor, b: tiny.Tensor) -> tiny.Tensor:
    """Product of stacks of matrices, or of vectors, as NumPy takes it."""
    x, y = a.data, b.data
    left, right = (x[None, :] if x.ndim == 1 else x), (y[:, None] if y.ndim == 1 else y)

    def pull(g: np.ndarray) -> Sequence[np.ndarray]:
        g = g.reshape((left @ right).shape)
        first, second = g @ np.swapaxes(right, -1, -2), np.swapaxes(left, -1, -2) @ g
        shaped = ((first, left, a), (second, right, b))
        return [tiny.fold(each, tiny.Tensor(like)).reshape(of.data.shape) for each, like, of in shaped]

    return tiny.record(np.asarray(x @ y), (a, b), pull)


def stack(a: tiny.Tensor, b: tiny.Tensor, dim: int) -> tiny.Tensor:
    """Two tensors of one shape, along a new dimension."""
    made = np.stack([a.data, b.data], dim)
    return tiny.record(made, (a, b), lambda g: [np.take(g, k, dim) for k in (0, 1)])


def unstack(a: tiny.Tensor, dim: int) -> Sequence[tiny.Tensor]:
    """The slices along a dimension, without that dimension."""

    def one(k: int) -> tiny.Tensor:
        def pull(g: np.ndarray) -> Sequence[np.ndarray]:
            whole = np.zeros_like(a.data)
            np.moveaxis(whole, dim, 0)[k] = g
            return (whole,)

        return tiny.record(np.take(a.data, k, dim), (a,), pull)

    return [one(k) for k in range(a.data.shape[dim])]


MORE = {"relu": relu, "matmul": matmul, "stack": stack, "unstack": unstack}
"""Ops that the example does not have."""


class Small(Tiny):
    """The base class: the example with further ops and without a dialect, so that the ops need no templates."""

    name = "small"
    capabilities = LEAST
    dialect = None

    def apply(self, op: str, operands: Sequence[tiny.Tensor], attrs: Attrs) -> Sequence[tiny.Tensor]:
        given = dict(attrs)
        made = MORE[op](*operands, **given) if op in MORE else getattr(tiny, op)(*operands, **given)
        return made if isinstance(made, list) else (made,)


class AddSumExp(Small):
    """Three ops."""

    ops = frozenset({"add", "sum", "exp"})


class SumMultiply(Small):
    """Two ops, one with two operands that need each other for their derivatives."""

    ops = frozenset({"sum", "multiply"})


class Exp(Small):
    """One op of one operand, and no sum: every root has one element."""

    ops = frozenset({"exp"})


class Add(Small):
    """One op of two operands that saves nothing."""

    ops = frozenset({"add"})


class ReluSum(Small):
    """Two ops of one operand."""

    ops = frozenset({"relu", "sum"})


class Matmul(Small):
    """One op, with two operands of several shapes."""

    ops = frozenset({"matmul"})


class StackUnstack(Small):
    """Two ops, one with several results."""

    ops = frozenset({"stack", "unstack"})


class Sum(Small):
    """One op of one operand that saves nothing."""

    ops = frozenset({"sum"})


class Scalars(Small):
    """Values are single numbers."""

    ops = frozenset({"add", "multiply", "exp"})
    traits = Traits(scalars=True)


class Several(Small):
    """Explicit cotangents, and every op of the example with one operand."""

    ops = frozenset({"negative", "exp", "sin"})
    capabilities = LEAST | {Capability.COTANGENTS, Capability.CONSTANTS, Capability.DETACH}


class Freeing(Small):
    """All claims of the example with ops that save nothing, so that no call is refused because of a freed graph."""

    ops = frozenset({"add", "sum", "negative"})
    capabilities = CAPABILITIES


class FreeingOne(Small):
    """All claims of the example, with one op."""

    ops = frozenset({"exp"})
    capabilities = CAPABILITIES


class FreeingTwo(Small):
    """All claims of the example, with two ops of one operand."""

    ops = frozenset({"exp", "sum"})
    capabilities = CAPABILITIES


class Nothing(Small):
    """Ops, and no claims."""

    ops = frozenset({"add", "sum", "exp"})
    capabilities = frozenset()


class Functions(Functional, Small):
    """Gradients only as results of functions; leaves store none."""

    name = "small functions"
    ops = frozenset({"add", "multiply", "sum"})
    capabilities = frozenset({Capability.FUNCTIONAL, Capability.MATERIALIZES})

    def leaf(self, data: np.ndarray, requires_grad: bool) -> tiny.Tensor:
        return tiny.Tensor(data)

    def vjp(
        self,
        function: Callable[..., tuple[tiny.Tensor, ...]],
        values: Sequence[tiny.Tensor],
        cotangents: Sequence[np.ndarray],
    ) -> Sequence[tiny.Tensor]:
        """The gradients of new leaves, with zeros for those that the roots do not depend on."""
        fresh = [tiny.Tensor(value.data, requires_grad=True) for value in values]
        for root, cotangent in zip(function(*fresh), cotangents, strict=True):
            if root.requires_grad:
                root.backward(tiny.Tensor(cotangent), retain_graph=True)
        return [tiny.Tensor(np.zeros_like(each.data) if each.grad is None else each.grad) for each in fresh]


class FunctionsOfOne(Functions):
    """The same with one op of one operand, and with cotangents."""

    ops = frozenset({"exp"})
    capabilities = Functions.capabilities | {Capability.COTANGENTS, Capability.MULTIPLE_ROOTS}


class WrongExp(AddSumExp):
    """A gradient is one per cent too large."""

    def apply(self, op: str, operands: Sequence[tiny.Tensor], attrs: Attrs) -> Sequence[tiny.Tensor]:
        if op != "exp":
            return super().apply(op, operands, attrs)
        (a,) = operands
        y = np.exp(a.data)
        return (tiny.record(y, (a,), lambda g: (g * y * 1.01,)),)


class Overwrites(AddSumExp):
    """A backward call replaces the gradient that a leaf stores."""

    def backward(
        self, roots: Sequence[tiny.Tensor], cotangents: Sequence[np.ndarray | None], retain_graph: bool | None
    ) -> None:
        for tensor in tiny.history(roots[0]):
            tensor.grad = None
        super().backward(roots, cotangents, retain_graph)


class FreesNever(FreeingTwo):
    """It claims that a call frees the graph, but keeps it."""

    def backward(
        self, roots: Sequence[tiny.Tensor], cotangents: Sequence[np.ndarray | None], retain_graph: bool | None
    ) -> None:
        super().backward(roots, cotangents, True)


class Skips(AddSumExp):
    """From the 41st program of a process on, it raises pytest's exception for skipping a test."""

    programs = 0

    def reset(self) -> None:
        Skips.programs += 1
        if Skips.programs > 40:
            raise unittest.SkipTest("no more today")
