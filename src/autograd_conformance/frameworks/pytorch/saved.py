"""PyTorch in eager mode with counted saved tensors: each counts from its packing until the graph releases it.

Saved-tensor hooks pack each saved tensor into a box, and a weak set contains the boxes that are alive. Tensors that a
backward call with `create_graph` saves are counted, too. With such hooks PyTorch does not check whether a saved tensor
was written to, so this adapter does not claim these checks, and a box contains a copy.

The garbage collector does not run before a count. PyTorch's graphs are freed by reference counting. For graphs in a
cycle with their gradients, its documentation says to clear the gradients.
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
"""Source code at the top of a printed script that counts saved tensors."""

ALIVE = """


def alive():
    torch.zeros((), device={device!r}, requires_grad=True).backward()  # waits for the device's thread
    return len(saved)"""
"""Source code of the function with which a printed script counts the living saved tensors on a device other than the
CPU.
"""


class _Box:
    """A copy of a saved tensor, without its history, so that counting keeps no graph alive.

    PyTorch restores the history when it unpacks the tensor, so derivatives of gradients are correct.
    """

    __slots__ = ("__weakref__", "tensor")

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor.detach().clone()


class TorchSaved(TorchEager):
    """PyTorch in eager mode that counts saved tensors."""

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
        """Forget the saved tensors of the last program."""
        super().reset()
        self.boxes: WeakSet[_Box] = WeakSet()

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        """Apply an op, and count the tensors that it saves."""
        with self._counting():
            return super().apply(op, operands, attrs)

    def write(self, op: str, target: torch.Tensor, operands: Sequence[torch.Tensor], attrs: Attrs) -> None:
        """Run an in-place op, and count the tensors that it saves."""
        with self._counting():
            super().write(op, target, operands, attrs)

    def backward(self, *call: Any, **options: Any) -> None:
        """Run a backward call, and count the tensors that it saves for its own derivative."""
        with self._counting():
            super().backward(*call, **options)

    def grad(self, *call: Any) -> Sequence[torch.Tensor | None]:
        """Run a functional call, and count the tensors that it saves for its own derivative."""
        with self._counting():
            return super().grad(*call)

    def _counting(self) -> AbstractContextManager[None]:
        return torch.autograd.graph.saved_tensors_hooks(self._pack, lambda box: box.tensor)

    def _pack(self, tensor: torch.Tensor) -> _Box:
        box = _Box(tensor)
        self.boxes.add(box)
        return box

    def saved(self) -> int:
        """Returns the number of saved tensors that are alive.

        A device's autograd thread releases the tensors of a call shortly after the call has returned. A backward call
        of another graph waits for that.
        """
        if self.device.type != "cpu":
            torch.zeros((), device=self.device, requires_grad=True).backward()
        return len(self.boxes)
