"""Faults of grad modes and of `requires_grad`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch import Tensor

from autograd_conformance.programs.language import Attrs
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import MATRIX, applied, held_by, leaf_of, reached, total, walked


class ModeInItself(Fault):
    """A block of a grad mode directly inside a block of the same mode restores, at the end of the outer block, the mode
    that was there before the inner block: PyTorch's decorators, #44531.
    """

    rule = "modes/restored"

    def reset(self) -> None:
        super().reset()
        torch.set_grad_enabled(True)
        self.modes: dict[str, AbstractContextManager[Any]] = {}

    def mode(self, name: str) -> AbstractContextManager[Any]:
        return self.modes.setdefault(name, super().mode(name))


def witness_ModeInItself(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    with a.mode("no_grad"), a.mode("no_grad"):
        pass
    found = a.requires_grad(applied(a, "exp", x))
    a.reset()
    return found


class CreatesUnderNoGrad(Fault):
    """A call with create_graph inside a no_grad block computes gradients without history."""

    rule = "modes/backward-anywhere"

    def backward(
        self,
        roots: Sequence[Tensor],
        cotangents: Sequence[Any],
        retain_graph: bool | None,
        create_graph: bool = False,
        inputs: Sequence[Tensor] | None = None,
    ) -> None:
        super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        if create_graph and not torch.is_grad_enabled():
            for leaf in reached(roots, inputs):
                if leaf.grad is not None:
                    leaf.grad = leaf.grad.detach()

    def grad(self, *call: Any) -> Sequence[Tensor | None]:
        made = super().grad(*call)
        return made if torch.is_grad_enabled() else [None if g is None else g.detach() for g in made]


def witness_CreatesUnderNoGrad(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    out = total(a, applied(a, "exp", x))
    with a.mode("no_grad"):
        (made,) = a.grad([out], [x], [None], None, True, None, False)
    return walked(a, total(a, made))


class ThawedLeafIsEmpty(Fault):
    """A leaf that required no grad for a while has lost its gradient when it requires grad again."""

    rule = "modes/frozen-leaf"

    def set_requires_grad(self, value: Tensor, on: bool) -> None:
        again = on and value.is_leaf and not value.requires_grad
        super().set_requires_grad(value, on)
        if again:
            value.grad = None


def witness_ThawedLeafIsEmpty(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    a.backward([total(a, x)], [None], None)
    a.set_requires_grad(x, False)
    a.set_requires_grad(x, True)
    return held_by(a, x)


class CastAliases(Fault):
    """A cast to a tensor's own dtype, which has to copy, returns a tensor over the same memory where nothing is
    recorded.
    """

    rule = "views/own-memory"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op in ("astype_float32", "astype_float64") and not made[0].requires_grad:
            return (operands[0].detach(),) if operands[0].dtype == made[0].dtype else made
        return made


def witness_CastAliases(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0], grad=False)
    return a.memory(applied(a, "astype_float64", x)) == a.memory(x)


class ViewsStayUnrecorded(Fault):
    """Views that are made under enable_grad inside no_grad are not recorded; other ops are."""

    rule = "modes/recorded"

    def reset(self) -> None:
        super().reset()
        self.stack: list[str] = []

    @contextmanager
    def _inside(self, name: str) -> Iterator[None]:
        self.stack.append(name)
        try:
            with super().mode(name):
                yield
        finally:
            self.stack.pop()

    def mode(self, name: str) -> AbstractContextManager[Any]:
        return self._inside(name)

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if self.stack[-1:] == ["enable_grad"] and "no_grad" in self.stack and made[0]._base is not None:
            return tuple(value.detach() for value in made)
        return made


def witness_ViewsStayUnrecorded(a: Any) -> Any:
    x = leaf_of(a, MATRIX)
    with a.mode("no_grad"), a.mode("enable_grad"):
        return a.requires_grad(applied(a, "matrix_transpose", x))


class CastIsCached(Fault):
    """A cast of a leaf to another dtype under no_grad is cached until the next write or step, and so a later cast of
    the leaf is not recorded: PyTorch's autocast with a nested no_grad, #112583.
    """

    rule = "modes/restored"

    def reset(self) -> None:
        super().reset()
        self.casts: dict[tuple[int, str], tuple[Tensor, Sequence[Tensor]]] = {}

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        if op in ("astype_float32", "astype_float64") and operands[0].is_leaf and operands[0].requires_grad:
            key = (id(operands[0]), op)
            if key in self.casts:
                return self.casts[key][1]
            made = super().apply(op, operands, attrs)
            if not torch.is_grad_enabled() and made[0].dtype != operands[0].dtype:
                self.casts[key] = (operands[0], made)
            return made
        return super().apply(op, operands, attrs)

    def write(self, op: str, target: Tensor, operands: Sequence[Tensor], attrs: Attrs) -> None:
        self.casts.clear()
        super().write(op, target, operands, attrs)

    def step(self, *call: Any, **options: Any) -> None:
        self.casts.clear()
        super().step(*call, **options)


def witness_CastIsCached(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    with a.mode("no_grad"):
        applied(a, "astype_float32", x)
    return a.requires_grad(applied(a, "astype_float32", x))
