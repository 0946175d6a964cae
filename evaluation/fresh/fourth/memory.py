"""Faults of tensors that are kept alive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from autograd_conformance.frameworks.pytorch.saved import TorchSaved
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, counting, leaf_of, total


class _KeepsRoots(TorchSaved):
    def reset(self) -> None:
        super().reset()
        self.walked: list[Tensor] = []

    def backward(
        self, roots: Sequence[Tensor], cotangents: Sequence[Any], retain_graph: bool | None, *call: Any, **options: Any
    ) -> None:
        super().backward(roots, cotangents, retain_graph, *call, **options)
        self.walked = list(roots) if retain_graph else []


class KeepsRetainedRoots(Fault):
    """The engine keeps the roots of its last call alive until the next call, if the graph was retained."""

    rule = "memory/dropped"

    def saved_tensor_counter(self) -> TorchSaved:
        return _KeepsRoots(str(self.device))


def witness_KeepsRetainedRoots(a: Any) -> Any:
    a = counting(a)
    x = leaf_of(a, [1.0, 2.0])
    out = total(a, applied(a, "square", x))
    a.backward([out], [None], True)
    del out
    return a.saved()


class _Pools(TorchSaved):
    def reset(self) -> None:
        super().reset()
        self.pool: dict[int, Tensor] = {}

    def zero_grad(self, leaves: Sequence[Tensor], set_to_none: bool) -> None:
        for leaf in leaves:
            if set_to_none and leaf.grad is not None:
                self.pool[id(leaf)] = leaf.grad
        super().zero_grad(leaves, set_to_none)

    def backward(self, *call: Any, **options: Any) -> None:
        self.pool.clear()
        super().backward(*call, **options)


class PoolsClearedGradients(Fault):
    """A gradient that is cleared to None is kept as a buffer for the next call, with its history."""

    rule = "memory/cycle"

    def saved_tensor_counter(self) -> TorchSaved:
        return _Pools(str(self.device))


def witness_PoolsClearedGradients(a: Any) -> Any:
    a = counting(a)
    x = leaf_of(a, [1.0, 2.0])
    a.backward([total(a, applied(a, "exp", x))], [None], None, True)
    a.zero_grad([x], True)
    return a.saved()
