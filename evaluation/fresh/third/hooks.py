"""Faults of hooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, held_by, hooked, leaf_of, total


class _Handle:
    """The handle of a hook that may be registered again."""

    def __init__(self, value: Tensor, function: Any, inner: Any) -> None:
        self.value, self.function, self.inner = value, function, inner
        self.version, self.alive = value._version, True

    def remove(self) -> None:
        self.alive = False
        self.inner.remove()


class SlotUsedAgain(Fault):
    """A hook reuses the slot of a removed hook of the same value, and so is called before hooks that were registered
    earlier.
    """

    rule = "hooks/order"

    def reset(self) -> None:
        super().reset()
        self.slots: dict[Any, list[_Handle]] = {}

    def hook(self, value: Tensor, function: Any) -> Any:
        made = _Handle(value, function, super().hook(value, function))
        slots = self.slots.setdefault((id(value), value._version), [])
        free = next((at for at, h in enumerate(slots) if not h.alive), None)
        if free is None:
            slots.append(made)
            return made
        slots[free] = made
        for later in slots[free + 1 :]:
            if later.alive:
                later.inner.remove()
                later.inner = super().hook(value, later.function)
        return made


def witness_SlotUsedAgain(a: Any) -> Any:
    x, calls = leaf_of(a, [1.0, 2.0]), []
    first = hooked(a, x, calls, "first")
    hooked(a, x, calls, "second", "scale", 3.0)
    a.remove(first)
    hooked(a, x, calls, "third", "replace", 5.0)
    a.backward([total(a, x)], [None], None)
    return [calls, held_by(a, x)]


class HookMoves(Fault):
    """After a recorded write to a non-leaf value, its hooks are called with the gradient of the new value instead of
    the one that they were registered on.
    """

    rule = "hooks/called"

    def reset(self) -> None:
        super().reset()
        self.registered: list[_Handle] = []

    def hook(self, value: Tensor, function: Any) -> Any:
        made = _Handle(value, function, super().hook(value, function))
        self.registered.append(made)
        return made

    def write(self, op: str, target: Tensor, operands: Sequence[Tensor], attrs: Any) -> None:
        before = target.grad_fn
        super().write(op, target, operands, attrs)
        if before is not None and target.grad_fn is not before and not target._is_view():
            for handle in self.registered:
                if handle.value is target and handle.alive:
                    handle.inner.remove()
                    handle.inner = super().hook(target, handle.function)


def witness_HookMoves(a: Any) -> Any:
    x, calls = leaf_of(a, [1.0, 2.0]), []
    y = applied(a, "multiply_scalar", x, scalar=2.0)
    hooked(a, y, calls, "y")
    a.write("add_scaled_", y, [y], (("alpha", 2.0),))
    a.backward([total(a, y)], [None], None)
    return calls
