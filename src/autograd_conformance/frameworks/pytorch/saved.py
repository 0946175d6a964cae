"""PyTorch, eager, with every saved tensor counted from the moment it is packed until the graph lets go of it.

The count comes from saved-tensor hooks: each saved tensor is kept in a box of ours, and a weak set knows the boxes that
are alive. What is recorded by a backward call that creates a graph is counted, too. With such hooks PyTorch does not
check whether a saved tensor was written since, so this adapter claims no such checks, and a box keeps a copy.

The count is taken as it is: the garbage collector is not run for it. PyTorch's graphs are freed by reference counting,
and where they form a cycle with the gradients that they made, its documentation says to clear those.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any
from weakref import WeakSet

import torch

from autograd_conformance.frameworks.pytorch.eager import TorchEager
from autograd_conformance.frameworks.pytorch.errors import insists
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Attrs

PRELUDE = """{prelude}
from weakref import WeakSet


class Box:
    def __init__(self, tensor):
        self.tensor = tensor.detach().clone()
        saved.add(self)


saved = WeakSet()
torch.autograd.graph.saved_tensors_hooks(Box, lambda box: box.tensor).__enter__()"""
"""What a program begins with that says how many saved tensors are alive."""

ALIVE = """


def alive():
    torch.zeros((), device={device!r}, requires_grad=True).backward()  # its thread has let go of the last call then
    return len(saved)"""
"""What it says so with on another device than the CPU."""


class _Box:
    """A copy of a saved tensor, without its history so that nothing is kept alive by the counting.

    PyTorch itself gives it back its history when it is unpacked, so gradients of gradients are right.
    """

    __slots__ = ("__weakref__", "tensor")

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor.detach().clone()


class TorchSaved(TorchEager):
    """PyTorch that says how many saved tensors are alive."""

    name = "torch (counting saved tensors)"
    insists = insists()
    capabilities = (TorchEager.capabilities | {Capability.COUNTS_SAVED}) - {Capability.WRITE_CHECKS}

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        prelude, count = PRELUDE.format(prelude=self.dialect.prelude), "len(saved)"
        if self.device.type != "cpu":
            prelude, count = prelude + ALIVE.format(device=str(self.device)), "alive()"
        self.dialect = replace(self.dialect, prelude=prelude, saved=count)

    def reset(self) -> None:
        """Nothing is saved yet."""
        super().reset()
        self.boxes: WeakSet[_Box] = WeakSet()

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        """All results of an op; what it saves is counted."""
        with self._counting():
            return super().apply(op, operands, attrs)

    def write(self, op: str, target: torch.Tensor, operands: Sequence[torch.Tensor], attrs: Attrs) -> None:
        """A write; what it saves is counted."""
        with self._counting():
            super().write(op, target, operands, attrs)

    def backward(self, *call: Any, **options: Any) -> None:
        """A backward call; what it saves for its own derivative is counted."""
        with self._counting():
            super().backward(*call, **options)

    def grad(self, *call: Any) -> Sequence[torch.Tensor | None]:
        """The functional form; what it saves for its own derivative is counted."""
        with self._counting():
            return super().grad(*call)

    def _counting(self) -> AbstractContextManager[None]:
        return torch.autograd.graph.saved_tensors_hooks(self._pack, lambda box: box.tensor)

    def _pack(self, tensor: torch.Tensor) -> _Box:
        box = _Box(tensor)
        self.boxes.add(box)
        return box

    def saved(self) -> int:
        """How many saved tensors are alive, once the device's thread has let go of what the last call went through: it
        does so a moment after the call has returned, and has done it when it has walked something else.
        """
        if self.device.type != "cpu":
            torch.zeros((), device=self.device, requires_grad=True).backward()
        return len(self.boxes)
