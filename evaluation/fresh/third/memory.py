"""Faults of tensors that stay in memory."""

from __future__ import annotations

from typing import Any

from autograd_conformance.frameworks.pytorch.saved import TorchSaved
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, counting, leaf_of, total


class _HookHolds:
    """A registry of hooks that keeps their values alive."""

    def reset(self) -> None:
        self._hooked: list[Any] = []
        super().reset()

    def hook(self, value: Any, function: Any) -> Any:
        self._hooked.append(value)
        return super().hook(value, function)


class _HookHoldsCounted(_HookHolds, TorchSaved):
    """The same, with a count of saved tensors."""


class HookHoldsValue(_HookHolds, Fault):
    """The registry of hooks keeps the hooked values alive, and so their graphs."""

    rule = "memory/dropped"

    def saved_tensor_counter(self) -> TorchSaved:
        return _HookHoldsCounted(str(self.device))


def witness_HookHoldsValue(a: Any) -> Any:
    a = counting(a)
    y = applied(a, "exp", leaf_of(a, [1.0, 2.0]))
    a.hook(y, lambda gradient: None)
    del y
    return a.saved()


class _ClearedKept:
    """Cleared gradients are kept for reuse."""

    def reset(self) -> None:
        self._spare: list[Any] = []
        super().reset()

    def zero_grad(self, leaves: Any, set_to_none: bool) -> None:
        if set_to_none:
            self._spare += [x.grad for x in leaves if x.grad is not None]
        super().zero_grad(leaves, set_to_none)


class _ClearedKeptCounted(_ClearedKept, TorchSaved):
    """The same, with a count of saved tensors."""


class ClearedKept(_ClearedKept, Fault):
    """Clearing to None keeps the gradient's memory for reuse, and with it the gradient's history."""

    rule = "memory/cycle"

    def saved_tensor_counter(self) -> TorchSaved:
        return _ClearedKeptCounted(str(self.device))


def witness_ClearedKept(a: Any) -> Any:
    a = counting(a)
    x = leaf_of(a, [1.0, 2.0])
    y = total(a, applied(a, "exp", x))
    a.backward([y], [None], None, True)
    del y
    a.zero_grad([x], True)
    return a.saved()
