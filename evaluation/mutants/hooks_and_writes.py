"""Mutants whose fault is in hooks on values that are written to in place afterwards."""

from __future__ import annotations

from typing import Any

import torch

from autograd_conformance.frameworks.adapter import HookFunction
from autograd_conformance.programs.language import Attrs
from evaluation.mutants.mutant import Mutant, Roots
from evaluation.mutants.writes import recorded


class Registered:
    """A hook that can be registered again; it is its own handle."""

    def __init__(self, value: torch.Tensor, function: HookFunction) -> None:
        self.value, self.function, self.removed = value, function, False
        self.handle: Any = value.register_hook(function)

    def remove(self) -> None:
        """Remove the hook."""
        self.handle.remove()
        self.removed = True

    def move(self) -> None:
        """Register the hook again on the value's current history."""
        if not self.removed:
            self.handle.remove()
            self.handle = self.value.register_hook(self.function)


class HooksFollowWrites(Mutant):
    """After a recorded write to a value, its earlier hooks get the gradient of the new value instead of the old one."""

    killed_by = ("hooks/called", "hooks/result", "writes/error-or-recorded")

    def reset(self) -> None:
        super().reset()
        self.registered: list[Registered] = []

    def hook(self, value: torch.Tensor, function: HookFunction) -> Any:
        self.registered.append(Registered(value, function))
        return self.registered[-1]

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        moving = recorded(target, operands) and target.requires_grad
        super().write(op, target, operands, attrs)
        for hook in self.registered:
            if moving and hook.value is target:
                hook.move()


class HooksLostByWrites(HooksFollowWrites):
    """A recorded write to a value removes its hooks."""

    killed_by = ("hooks/called", "hooks/result")

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        Mutant.write(self, op, target, operands, attrs)
        for hook in self.registered:
            if hook.value is target and target.requires_grad and recorded(target, operands):
                hook.remove()
