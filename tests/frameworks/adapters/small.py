"""Honest frameworks of few ops and few claims, each of which is to get a verdict on what it claims; some with a fault.

They are parts of the example, with some more ops: `tests.frameworks.adapters.small:AddSumExp`.
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
"""A backward call that adds to what leaves hold, and nothing else."""


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
    """The slices along a dimension, which is gone from them."""

    def one(k: int) -> tiny.Tensor:
        def pull(g: np.ndarray) -> Sequence[np.ndarray]:
            whole = np.zeros_like(a.data)
            np.moveaxis(whole, dim, 0)[k] = g
            return (whole,)

        return tiny.record(np.take(a.data, k, dim), (a,), pull)

    return [one(k) for k in range(a.data.shape[dim])]


MORE = {"relu": relu, "matmul": matmul, "stack": stack, "unstack": unstack}
"""The ops that the example does not have."""


class Small(Tiny):
    """The base of all: the example with further ops and no dialect, so that they need no code."""

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
    """Two ops, one of them of two operands that need each other."""

    ops = frozenset({"sum", "multiply"})


class Exp(Small):
    """One op of one operand: no sum, so that every call begins at one element."""

    ops = frozenset({"exp"})


class Add(Small):
    """One op of two operands, which saves nothing."""

    ops = frozenset({"add"})


class ReluSum(Small):
    """Two ops of one operand."""

    ops = frozenset({"relu", "sum"})


class Matmul(Small):
    """One op, of two operands of several shapes."""

    ops = frozenset({"matmul"})


class StackUnstack(Small):
    """Two ops, one of several results."""

    ops = frozenset({"stack", "unstack"})


class Sum(Small):
    """One op that saves nothing, and takes one operand."""

    ops = frozenset({"sum"})


class Scalars(Small):
    """Single numbers only."""

    ops = frozenset({"add", "multiply", "exp"})
    traits = Traits(scalars=True)


class Several(Small):
    """Explicit cotangents, and every op of the example of one operand."""

    ops = frozenset({"negative", "exp", "sin"})
    capabilities = LEAST | {Capability.COTANGENTS, Capability.CONSTANTS, Capability.DETACH}


class Freeing(Small):
    """All that the example claims, with ops that save nothing: nothing is ever refused for being freed."""

    ops = frozenset({"add", "sum", "negative"})
    capabilities = CAPABILITIES


class FreeingOne(Small):
    """All that the example claims, with one op."""

    ops = frozenset({"exp"})
    capabilities = CAPABILITIES


class FreeingTwo(Small):
    """All that the example claims, with two ops of one operand."""

    ops = frozenset({"exp", "sum"})
    capabilities = CAPABILITIES


class Nothing(Small):
    """Ops, and not one claim."""

    ops = frozenset({"add", "sum", "exp"})
    capabilities = frozenset()


class Functions(Functional, Small):
    """Gradients of functions as results, and nothing that leaves hold."""

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
        """The gradients of fresh leaves, zeros where nothing reaches one."""
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
    """A gradient that is a hundredth too large."""

    def apply(self, op: str, operands: Sequence[tiny.Tensor], attrs: Attrs) -> Sequence[tiny.Tensor]:
        if op != "exp":
            return super().apply(op, operands, attrs)
        (a,) = operands
        y = np.exp(a.data)
        return (tiny.record(y, (a,), lambda g: (g * y * 1.01,)),)


class Overwrites(AddSumExp):
    """A backward call replaces the gradient that a leaf holds."""

    def backward(
        self, roots: Sequence[tiny.Tensor], cotangents: Sequence[np.ndarray | None], retain_graph: bool | None
    ) -> None:
        for tensor in tiny.history(roots[0]):
            tensor.grad = None
        super().backward(roots, cotangents, retain_graph)


class FreesNever(FreeingTwo):
    """It claims that a call frees the graph, and keeps it."""

    def backward(
        self, roots: Sequence[tiny.Tensor], cotangents: Sequence[np.ndarray | None], retain_graph: bool | None
    ) -> None:
        super().backward(roots, cotangents, True)


class Skips(AddSumExp):
    """From the 41st program of a process on it raises what makes pytest skip a test."""

    programs = 0

    def reset(self) -> None:
        Skips.programs += 1
        if Skips.programs > 40:
            raise unittest.SkipTest("no more today")
