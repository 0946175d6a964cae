"""A small autograd as many people write one: a class of tensors with operators and methods, arrays as elements and
gradients, and a backward call without arguments. It has neither functions, nor `detach`, nor dtypes.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import index

import numpy as np


class Tensor:
    """An array with a gradient, and with the function that adds to the gradients of its operands."""

    def __init__(self, data: np.ndarray, requires_grad: bool = False) -> None:
        self.data = np.asarray(data)
        self.requires_grad, self.grad = requires_grad, None
        self.operands: tuple[Tensor, ...] = ()
        self.pull: Callable[[np.ndarray], tuple[np.ndarray, ...]] = lambda grad: ()

    def _made(self, data: np.ndarray, operands: tuple[Tensor, ...], pull: Callable) -> Tensor:
        made = Tensor(data, any(each.requires_grad for each in operands))
        made.operands, made.pull = operands, pull
        return made

    def __mul__(self, other: Tensor) -> Tensor:
        def pull(grad: np.ndarray) -> tuple[np.ndarray, ...]:
            return _summed(grad * other.data, self.data.shape), _summed(grad * self.data, other.data.shape)

        return self._made(self.data * other.data, (self, other), pull)

    def exp(self) -> Tensor:
        made = np.exp(self.data)
        return self._made(made, (self,), lambda grad: (grad * made,))

    def relu(self) -> Tensor:
        return self._made(np.maximum(self.data, 0), (self,), lambda grad: (grad * (self.data > 0),))

    def reshape(self, *shape: int) -> Tensor:
        return self._made(
            self.data.reshape([index(n) for n in shape]), (self,), lambda grad: (grad.reshape(self.data.shape),)
        )

    def sum(self, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Tensor:
        def pull(grad: np.ndarray) -> tuple[np.ndarray, ...]:
            spread = grad if keepdims or axis is None else np.expand_dims(grad, axis)
            return (np.broadcast_to(spread, self.data.shape).copy(),)

        return self._made(self.data.sum(axis=axis, keepdims=keepdims), (self,), pull)

    def backward(self) -> None:
        if self.data.size != 1:
            raise ValueError("backward begins at a number")
        order: list[Tensor] = []
        self._visit(order, set())
        totals = {id(self): np.ones_like(self.data)}
        for each in reversed(order):
            total = totals[id(each)]
            if not each.operands:
                added = total.astype(each.data.dtype)
                each.grad = added if each.grad is None else each.grad + added
            for operand, part in zip(each.operands, each.pull(total)):
                if operand.requires_grad:
                    totals[id(operand)] = totals[id(operand)] + part if id(operand) in totals else part

    def _visit(self, order: list[Tensor], seen: set[int]) -> None:
        if self.requires_grad and id(self) not in seen:
            seen.add(id(self))
            for operand in self.operands:
                operand._visit(order, seen)
            order.append(self)


def _summed(grad: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Returns a gradient, summed over the elements that an operand was broadcast to."""
    grad = grad.sum(axis=tuple(range(grad.ndim - len(shape))))
    return grad.sum(axis=tuple(k for k, n in enumerate(shape) if n == 1 and grad.shape[k] != 1), keepdims=True)
