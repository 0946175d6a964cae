"""What a framework shows of its tensors, by an adapter's methods, each answer held to what it has to be."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd_conformance.frameworks import answers
from autograd_conformance.frameworks.base import FullAdapter, Value
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.observations import Gradient, Tensor

_TRUSTED: set[int] = set()
"""The adapters, by `id`, of which a gradient was read and proved to be a copy."""


class Reader:
    """Reads tensors and gradients; what the adapter does not claim to show is None.

    The usual answer is told by its class alone, since every value of every program passes here.
    """

    def __init__(self, adapter: FullAdapter) -> None:
        capabilities = adapter.capabilities
        self.adapter = adapter
        self.dtype, self.requires_grad = adapter.dtype, adapter.requires_grad
        self.memory = adapter.memory if Capability.MEMORY in capabilities else _unseen
        self.strides = adapter.strides if Capability.LAYOUT in capabilities else _unseen
        self.grad_requires_grad = adapter.requires_grad if Capability.CREATE_GRAPH in capabilities else _unseen
        self.is_trusted = id(adapter) in _TRUSTED

    def tensor(self, value: Value) -> Tensor:
        """What a tensor shows."""
        requires, elements, dtype = self.requires_grad(value), self.read(value), self.dtype(value)
        return Tensor(elements, *self._shown(dtype, requires, self.memory(value), self.strides(value)))

    def gradient(self, leaf: Value) -> Gradient | None:
        """What the gradient shows that a tensor holds, if it holds one."""
        adapter = self.adapter
        gradient = adapter.gradient(leaf)
        if gradient is None:
            return None
        if not self.is_trusted:
            answers.check_copy(adapter, gradient, "a gradient")
            _TRUSTED.add(id(adapter))
            self.is_trusted = True
        identity = adapter.identity(gradient)
        if identity.__class__ is not int:
            identity = answers.number(adapter, "identity", identity)
        requires, elements, dtype = self.grad_requires_grad(gradient), self.read(gradient), self.dtype(gradient)
        shown = self._shown(dtype, requires, self.memory(gradient), self.strides(gradient))
        dtype, requires, memory, strides = shown
        return Gradient(elements, dtype, identity, requires, memory, strides)

    def read(self, value: Value) -> np.ndarray:
        """The elements of a tensor."""
        got = self.adapter.read(value)
        return got if got.__class__ is np.ndarray else answers.array(self.adapter, got)

    def _shown(
        self, dtype: Any, requires: Any, memory: Any, strides: Any
    ) -> tuple[str, bool | None, int | None, tuple[int, ...] | None]:
        """What a tensor shows beside its elements, where the adapter's answers are what they have to be."""
        adapter = self.adapter
        if dtype.__class__ is not str:
            dtype = answers.text(adapter, "dtype", dtype)
        if requires is not None and requires.__class__ is not bool:
            requires = answers.truth(adapter, "requires_grad", requires)
        if memory is not None and memory.__class__ is not int:
            memory = answers.number(adapter, "memory", memory)
        if strides is not None and strides.__class__ is not tuple:
            strides = answers.numbers(adapter, "strides", strides)
        return dtype, requires, memory, strides


def _unseen(value: Value) -> Any:
    """Stands in for a method by which a framework would show more of a value: None."""
