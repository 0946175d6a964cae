"""Faults of grad modes and of failed calls."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograd_conformance.programs.language import Attrs
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, held_by, leaf_of, outcome, total


class _Shared:
    """A grad mode that remembers the former mode in itself."""

    def __init__(self, on: bool) -> None:
        self.on = on
        self.former = True

    def __enter__(self) -> None:
        self.former = torch.is_grad_enabled()
        torch.set_grad_enabled(self.on)

    def __exit__(self, *error: object) -> None:
        torch.set_grad_enabled(self.former)


class NestedForgets(Fault):
    """All blocks of a mode share one object, so that a block inside another overwrites the mode to restore: PyTorch's
    decorator `no_grad` on a recursive function.
    """

    rule = "modes/restored"

    def reset(self) -> None:
        super().reset()
        torch.set_grad_enabled(True)
        self.blocks = {"no_grad": _Shared(False), "enable_grad": _Shared(True)}

    def mode(self, name: str) -> AbstractContextManager[Any]:
        return self.blocks.get(name) or super().mode(name)


def witness_NestedForgets(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    with a.mode("no_grad"), a.mode("no_grad"):
        applied(a, "square", x)
    recorded = a.requires_grad(applied(a, "square", x))
    torch.set_grad_enabled(True)
    return recorded


class _Noted:
    """A grad mode whose name is on a list while it lasts."""

    def __init__(self, mode: AbstractContextManager[Any], name: str, names: list[str]) -> None:
        self.mode, self.name, self.names = mode, name, names

    def __enter__(self) -> None:
        self.mode.__enter__()
        self.names.append(self.name)

    def __exit__(self, *error: Any) -> bool | None:
        self.names.pop()
        return self.mode.__exit__(*error)


class WriteSeesOuterMode(Fault):
    """A write in an enable_grad block inside a no_grad block is not recorded, though ops are."""

    rule = "writes/recorded"

    def reset(self) -> None:
        super().reset()
        self.names: list[str] = []

    def mode(self, name: str) -> AbstractContextManager[Any]:
        return _Noted(super().mode(name), name, self.names)

    def write(self, op: str, target: Tensor, operands: Sequence[Tensor], attrs: Attrs) -> None:
        inner = "no_grad" in self.names and self.names[-1] == "enable_grad" and not target.is_leaf
        with torch.set_grad_enabled(torch.is_grad_enabled() and not inner):
            super().write(op, target, operands, attrs)


def witness_WriteSeesOuterMode(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    with a.mode("no_grad"), a.mode("enable_grad"):
        y = applied(a, "multiply_scalar", x, scalar=2.0)
        a.write("mul_scalar_", y, [], (("scalar", 3),))
        out = total(a, y)
    a.backward([out], [None], None)
    return held_by(a, x)


class FailureEndsNoGrad(Fault):
    """A call with create_graph that fails in a no_grad block leaves recording switched on for the rest of the block."""

    rule = "errors/recovers"

    def backward(
        self,
        roots: Sequence[Tensor],
        cotangents: Sequence[Any],
        retain_graph: bool | None,
        create_graph: bool = False,
        inputs: Sequence[Tensor] | None = None,
    ) -> None:
        try:
            super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        except RuntimeError:
            if create_graph:
                torch.set_grad_enabled(True)
            raise

    def grad(
        self,
        roots: Sequence[Tensor],
        inputs: Sequence[Tensor],
        cotangents: Sequence[Any],
        retain_graph: bool | None,
        create_graph: bool,
        *rest: Any,
    ) -> Sequence[Tensor | None]:
        try:
            return super().grad(roots, inputs, cotangents, retain_graph, create_graph, *rest)
        except RuntimeError:
            if create_graph:
                torch.set_grad_enabled(True)
            raise


def witness_FailureEndsNoGrad(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    out = total(a, applied(a, "square", x))
    a.backward([out], [None], None)
    with a.mode("no_grad"):
        failed = outcome(a, lambda: a.backward([out], [None], None, create_graph=True))
        return failed, a.requires_grad(applied(a, "square", x))


class CotangentFits(Fault):
    """A cotangent of another shape is accepted if it can be broadcast to the root's: PyTorch before it compared the
    shapes.
    """

    rule = "errors/cotangent-shape"

    @staticmethod
    def _fitted(roots: Sequence[Tensor], cotangents: Sequence[Any]) -> list[Any]:
        fitted = list(cotangents)
        for i, (root, given) in enumerate(zip(roots, cotangents, strict=True)):
            if given is not None and given.shape != tuple(root.shape):
                try:
                    fitted[i] = np.broadcast_to(given, tuple(root.shape)).copy()
                except ValueError:
                    continue
        return fitted

    def backward(self, roots: Sequence[Tensor], cotangents: Sequence[Any], *call: Any, **options: Any) -> None:
        super().backward(roots, self._fitted(roots, cotangents), *call, **options)

    def grad(
        self, roots: Sequence[Tensor], inputs: Sequence[Tensor], cotangents: Sequence[Any], *call: Any
    ) -> Sequence[Tensor | None]:
        return super().grad(roots, inputs, self._fitted(roots, cotangents), *call)


def witness_CotangentFits(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    return outcome(a, lambda: a.backward([applied(a, "square", x)], [np.ones(1)], None))
