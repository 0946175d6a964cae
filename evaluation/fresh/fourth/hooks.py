"""Faults of hooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from autograd_conformance.frameworks.adapter import HookFunction
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, hooked, leaf_of, total


class RemovedByIndex(Fault):
    """A hook's handle is its index among the value's hooks, and the indices change when a hook is removed."""

    rule = "hooks/removed"

    def reset(self) -> None:
        super().reset()
        self.hooks: dict[int, tuple[Tensor, list[Any]]] = {}

    def hook(self, value: Tensor, function: HookFunction) -> Any:
        _, hooks = self.hooks.setdefault(id(value), (value, []))
        hooks.append(super().hook(value, function))
        return hooks, len(hooks) - 1

    def remove(self, handle: Any) -> None:
        if not isinstance(handle, tuple):
            super().remove(handle)
            return
        hooks, place = handle
        if place < len(hooks):
            super().remove(hooks.pop(place))


def witness_RemovedByIndex(a: Any) -> Any:
    x, calls = leaf_of(a, [1.0, 2.0]), []
    handles = [hooked(a, x, calls, name) for name in range(3)]
    a.remove(handles[0])
    a.remove(handles[1])
    a.backward([total(a, x)], [None], None)
    return calls


class InputsSkipAccumulated(Fault):
    """A call with `inputs` accumulates into them without calling the hooks after accumulation."""

    rule = "hooks/accumulated"

    def reset(self) -> None:
        super().reset()
        self.silent = False

    def accumulated_hook(self, leaf: Tensor, function: HookFunction) -> Any:
        return super().accumulated_hook(leaf, lambda gradient: None if self.silent else function(gradient))

    def backward(
        self,
        roots: Sequence[Tensor],
        cotangents: Sequence[Any],
        retain_graph: bool | None,
        create_graph: bool = False,
        inputs: Sequence[Tensor] | None = None,
    ) -> None:
        self.silent = inputs is not None
        try:
            super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        finally:
            self.silent = False


def witness_InputsSkipAccumulated(a: Any) -> Any:
    x, calls = leaf_of(a, [1.0, 2.0]), []
    a.accumulated_hook(x, lambda g: calls.append(a.read(g).tolist()))
    a.backward([total(a, applied(a, "square", x))], [None], None, inputs=[x])
    return calls
