"""A reverse-mode autograd on NumPy, small enough to read in one sitting: the framework of the worked example.

A result stores its inputs and a function that maps its cotangent to theirs. `backward` walks from a root to the leaves,
newest first, and adds to their gradients. It frees the graph that it walked unless `retain_graph` is true.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

Pull = Callable[[np.ndarray], Sequence[np.ndarray]]


class GraphFreed(RuntimeError):
    """An earlier backward call freed the graph of this call."""


class NoHistory(RuntimeError):
    """The root does not require grad."""


class MissingCotangent(ValueError):
    """A root without exactly one element needs a cotangent."""


class WrongCotangent(ValueError):
    """The cotangent does not have the root's shape."""


class Tensor:
    """An array with a history; `grad` is None until a backward call reaches it."""

    def __init__(self, data: np.ndarray, requires_grad: bool = False) -> None:
        self.data = np.asarray(data)
        self.requires_grad = requires_grad
        self.grad: np.ndarray | None = None
        self.inputs: tuple[Tensor, ...] = ()
        self.pull: Pull | None = None
        self.freed = False

    def detach(self) -> Tensor:
        """The same values without history."""
        return Tensor(self.data)

    def backward(self, cotangent: Tensor | None = None, retain_graph: bool = False) -> None:
        """Add the gradients of this root to the leaves' `grad`; if it raises, it has changed nothing."""
        if not self.requires_grad:
            raise NoHistory("this tensor does not require grad")
        if cotangent is None:
            if self.data.size != 1:
                raise MissingCotangent("a cotangent can only be left out for a root of one element")
            cotangent = Tensor(np.ones_like(self.data))
        if cotangent.data.shape != self.data.shape:
            raise WrongCotangent(f"a cotangent of shape {cotangent.data.shape} for a root of shape {self.data.shape}")
        order = history(self)
        if any(tensor.freed for tensor in order):
            raise GraphFreed("an earlier backward call freed this graph; give that call retain_graph=True")
        due = {self: cotangent.data}
        for tensor in reversed(order):
            arrived = due.pop(tensor)
            if tensor.pull is None:
                tensor.grad = np.array(arrived if tensor.grad is None else tensor.grad + arrived)
                continue
            for source, share in zip(tensor.inputs, tensor.pull(arrived), strict=True):
                if source.requires_grad:
                    due[source] = due[source] + share if source in due else share
            if not retain_graph:
                tensor.inputs, tensor.pull, tensor.freed = (), None, True


def history(root: Tensor) -> list[Tensor]:
    """The tensors that require grad and that a root was computed from, inputs before results, and the root."""
    order: dict[Tensor, None] = {}

    def visit(tensor: Tensor) -> None:
        for source in tensor.inputs:
            if source.requires_grad and source not in order:
                visit(source)
        order[tensor] = None

    visit(root)
    return list(order)


def record(data: np.ndarray, inputs: tuple[Tensor, ...], pull: Pull) -> Tensor:
    """A result with its history; without history if no input requires grad."""
    result = Tensor(data, any(source.requires_grad for source in inputs))
    if result.requires_grad:
        result.inputs, result.pull = inputs, pull
    return result


def add(a: Tensor, b: Tensor) -> Tensor:
    """Sum of two tensors, with broadcasting."""
    return record(a.data + b.data, (a, b), lambda g: (fold(g, a), fold(g, b)))


def multiply(a: Tensor, b: Tensor) -> Tensor:
    """Elementwise product of two tensors, with broadcasting."""
    x, y = a.data, b.data
    return record(x * y, (a, b), lambda g: (fold(g * y, a), fold(g * x, b)))


def negative(a: Tensor) -> Tensor:
    """Negation."""
    return record(-a.data, (a,), lambda g: (-g,))


def sin(a: Tensor) -> Tensor:
    """Sine."""
    return record(np.sin(a.data), (a,), lambda g: (g * np.cos(a.data),))


def exp(a: Tensor) -> Tensor:
    """Exponential."""
    y = np.exp(a.data)
    return record(y, (a,), lambda g: (g * y,))


def sum(a: Tensor, dim: tuple[int, ...] | None = None, keepdim: bool = False) -> Tensor:
    """Sum over some dimensions; None means all."""
    data = np.sum(a.data, axis=dim, keepdims=keepdim)
    kept = np.sum(a.data, axis=dim, keepdims=True).shape
    return record(data, (a,), lambda g: (np.broadcast_to(g.reshape(kept), a.data.shape),))


def mm(a: Tensor, b: Tensor) -> Tensor:
    """Product of two matrices."""
    x, y = a.data, b.data
    return record(x @ y, (a, b), lambda g: (g @ y.T, x.T @ g))


def fold(cotangent: np.ndarray, source: Tensor) -> np.ndarray:
    """A cotangent summed over the broadcast dimensions to the shape of the source."""
    shape = source.data.shape
    extra = cotangent.ndim - len(shape)
    stretched = tuple(extra + k for k, n in enumerate(shape) if n == 1 and cotangent.shape[extra + k] != 1)
    return cotangent.sum(axis=(*range(extra), *stretched)).reshape(shape)
