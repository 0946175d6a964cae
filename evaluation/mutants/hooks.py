"""Mutants whose fault is in hooks or in retained gradients of non-leaf values."""

from __future__ import annotations

from typing import Any

import torch

from autograd_conformance.frameworks.adapter import HookFunction
from evaluation.mutants.mutant import Cotangents, Mutant, Roots


class Hooked(Mutant):
    """A mutant that registers the `replacement` of a hook function."""

    def replacement(self, value: torch.Tensor, function: HookFunction) -> HookFunction:
        """The function that is registered; here the given one."""
        return function

    def hook(self, value: torch.Tensor, function: HookFunction) -> Any:
        """Register the replacement of a hook function."""
        return super().hook(value, self.replacement(value, function))


class HookNeverCalled(Hooked):
    """Hooks on non-leaf values are never called."""

    killed_by = ("hooks/called",)

    def replacement(self, value: torch.Tensor, function: HookFunction) -> HookFunction:
        return function if value.is_leaf else lambda gradient: None


class HookCalledTwice(Hooked):
    """Each hook is called twice in a row."""

    killed_by = ("hooks/called",)

    def replacement(self, value: torch.Tensor, function: HookFunction) -> HookFunction:
        def twice(gradient: torch.Tensor) -> torch.Tensor | None:
            function(gradient)
            return function(gradient)

        return twice


class HookOnce(Hooked):
    """A hook is called in the first backward call only."""

    killed_by = ("hooks/called",)

    def replacement(self, value: torch.Tensor, function: HookFunction) -> HookFunction:
        called: list[bool] = []

        def once(gradient: torch.Tensor) -> torch.Tensor | None:
            called.append(True)
            return function(gradient) if len(called) == 1 else None

        return once


class HookSeesParts(Hooked):
    """A hook is called with half of the gradient."""

    killed_by = ("hooks/called",)

    def replacement(self, value: torch.Tensor, function: HookFunction) -> HookFunction:
        return lambda gradient: function(gradient / 2)


class HookResultIgnored(Hooked):
    """A hook's result is ignored."""

    killed_by = ("hooks/result", "hooks/order")

    def replacement(self, value: torch.Tensor, function: HookFunction) -> HookFunction:
        def shown(gradient: torch.Tensor) -> None:
            function(gradient)

        return shown


class HookResultAdded(Hooked):
    """A hook's result is added to the gradient instead of replacing it."""

    killed_by = ("hooks/result", "hooks/order")

    def replacement(self, value: torch.Tensor, function: HookFunction) -> HookFunction:
        def added(gradient: torch.Tensor) -> torch.Tensor | None:
            made = function(gradient)
            return None if made is None else made + gradient

        return added


class HooksBackwards(Hooked):
    """The hooks of one value are called in the reverse order of their registration."""

    killed_by = ("hooks/order",)

    def reset(self) -> None:
        super().reset()
        self.hooks: dict[int, list[tuple[torch.Tensor, HookFunction]]] = {}

    def hook(self, value: torch.Tensor, function: HookFunction) -> Any:
        mine = self.hooks.setdefault(id(value), [])
        first, entry = not mine, (value, function)
        mine.append(entry)
        handle = value.register_hook(lambda gradient: self._backwards(mine, gradient)) if first else None
        return lambda: mine.remove(entry) or handle

    def _backwards(self, mine: list[tuple[torch.Tensor, HookFunction]], gradient: torch.Tensor) -> torch.Tensor:
        for _, function in reversed(mine):
            made = function(gradient)
            gradient = gradient if made is None else made
        return gradient

    def remove(self, handle: Any) -> None:
        handle() if callable(handle) else handle.remove()


class HooksSeeTheOriginal(HooksBackwards):
    """Each hook of a value is called with the original gradient instead of the previous hook's result."""

    killed_by = ("hooks/order", "hooks/called")

    def _backwards(self, mine: list[tuple[torch.Tensor, HookFunction]], gradient: torch.Tensor) -> torch.Tensor:
        made = [result for _, function in mine if (result := function(gradient)) is not None]
        return made[-1] if made else gradient


class RemovesNothing(Mutant):
    """A removed hook is still called."""

    killed_by = ("hooks/removed",)

    def remove(self, handle: Any) -> None:
        """Do nothing."""


class RemovesAll(Mutant):
    """Removing a hook removes all hooks of the program."""

    killed_by = ("hooks/called", "hooks/removed", "hooks/order", "hooks/result")

    def reset(self) -> None:
        super().reset()
        self.handles: list[Any] = []

    def hook(self, value: torch.Tensor, function: HookFunction) -> Any:
        self.handles.append(super().hook(value, function))
        return self.handles[-1]

    def remove(self, handle: Any) -> None:
        for each in self.handles:
            each.remove()
        handle.remove()


class CalledBeforeAccumulation(Mutant):
    """A hook after accumulation is called before accumulation, with the leaf's old gradient or with the
    contribution.
    """

    killed_by = ("hooks/accumulated", "hooks/called")

    def accumulated_hook(self, leaf: torch.Tensor, function: HookFunction) -> Any:
        def early(gradient: torch.Tensor) -> None:
            function(gradient if leaf.grad is None else leaf.grad)

        return leaf.register_hook(early)


class AccumulatedNeverCalled(Mutant):
    """A hook after accumulation is called in the first backward call only."""

    killed_by = ("hooks/accumulated",)

    def accumulated_hook(self, leaf: torch.Tensor, function: HookFunction) -> Any:
        calls: list[bool] = []

        def first(gradient: torch.Tensor) -> torch.Tensor | None:
            calls.append(True)
            return function(gradient) if len(calls) == 1 else None

        return super().accumulated_hook(leaf, first)


class Handle:
    """The handle of a hook that was never registered."""

    def remove(self) -> None:
        """Do nothing."""


class ConstantsHooked(Mutant):
    """A hook on a value that requires no grad is accepted instead of refused, and never called."""

    killed_by = ("hooks/refused",)

    def hook(self, value: torch.Tensor, function: HookFunction) -> Any:
        return super().hook(value, function) if value.requires_grad else Handle()


class AccumulatedAnywhere(Mutant):
    """A hook after accumulation is accepted on non-leaf values instead of refused, and called with their gradient."""

    killed_by = ("hooks/refused",)

    def accumulated_hook(self, leaf: torch.Tensor, function: HookFunction) -> Any:
        if leaf.is_leaf:
            return super().accumulated_hook(leaf, function)
        return leaf.register_hook(lambda gradient: (function(gradient), None)[1])


class SwallowsExceptions(Hooked):
    """An exception in a hook is ignored, and the backward call continues."""

    killed_by = ("hooks/raise",)

    def replacement(self, value: torch.Tensor, function: HookFunction) -> HookFunction:
        def quiet(gradient: torch.Tensor) -> torch.Tensor | None:
            try:
                return function(gradient)
            except Exception:
                return None

        return quiet


class ReshapesResults(Hooked):
    """A hook's result of another shape is cut to the gradient's shape instead of refused."""

    killed_by = ("hooks/shape",)

    def replacement(self, value: torch.Tensor, function: HookFunction) -> HookFunction:
        def cut(gradient: torch.Tensor) -> torch.Tensor | None:
            made = function(gradient)
            reshape = made is not None and made.shape != gradient.shape
            return made.flatten()[: gradient.numel()].reshape(gradient.shape) if reshape else made

        return cut


class RetainOverwrites(Mutant):
    """A retained gradient is replaced by each call instead of accumulated."""

    killed_by = ("hooks/retained",)

    def reset(self) -> None:
        super().reset()
        self.retaining: list[torch.Tensor] = []

    def retain_grad(self, value: torch.Tensor) -> None:
        super().retain_grad(value)
        self.retaining.append(value)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        held = [value.grad for value in self.retaining if not value.is_leaf]
        values = [value for value in self.retaining if not value.is_leaf]
        for value in values:
            value.grad = None
        super().backward(roots, cotangents, retain_graph, **options)
        for value, old in zip(values, held, strict=True):
            if value.grad is None:
                value.grad = old


class RetainsBeforeHooks(Mutant):
    """A retained gradient is stored as it was before the value's last hook."""

    killed_by = ("hooks/retained",)

    def reset(self) -> None:
        super().reset()
        self.before: dict[torch.Tensor, torch.Tensor] = {}

    def hook(self, value: torch.Tensor, function: HookFunction) -> Any:
        def noted(gradient: torch.Tensor) -> torch.Tensor | None:
            self.before[value] = gradient
            return function(gradient)

        return super().hook(value, noted)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        self.before.clear()
        super().backward(roots, cotangents, retain_graph, **options)
        for value, gradient in self.before.items():
            if value.retains_grad and value.grad is not None:
                value.grad = gradient.clone()


class ConstantsRetain(Mutant):
    """retain_grad on a value that requires no grad does nothing instead of raising."""

    killed_by = ("hooks/retain-refused",)

    def retain_grad(self, value: torch.Tensor) -> None:
        if value.requires_grad:
            super().retain_grad(value)
