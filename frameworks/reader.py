"""What a framework shows of its tensors, by an adapter's methods, each answer held to what it has to be."""

from __future__ import annotations

from typing import Any

from autograd_conformance.frameworks import answers, identities
from autograd_conformance.frameworks.base import FullAdapter, Value
from autograd_conformance.frameworks.copies import Kept, changed, is_copy, kept
from autograd_conformance.frameworks.registry import BrokenAdapter
from autograd_conformance.programs.arrays import NAMES
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.observations import Gradient, Tensor
from autograd_conformance.programs.own_numpy import np

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
        self.kept: list[Kept] = []
        """What was read and is not known to be a copy."""

    def tensor(self, value: Value) -> Tensor:
        """What a tensor shows."""
        requires, (elements, dtype) = self.requires_grad(value), self.elements(value)
        return Tensor(elements, dtype, *self._shown(requires, self.memory(value), self.strides(value)))

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
        identity, again = adapter.identity(gradient), adapter.identity(gradient)
        if identity.__class__ is not int:
            identity = answers.number(adapter, "identity", identity)
        if identity != again:
            identities.refuse_unstable(adapter, identity, again)
        requires, (elements, dtype) = self.grad_requires_grad(gradient), self.elements(gradient)
        shown = self._shown(requires, self.memory(gradient), self.strides(gradient))
        return Gradient(elements, dtype, identity, *shown)

    def elements(self, value: Value) -> tuple[np.ndarray, str]:
        """The elements of a tensor, and the name of their dtype."""
        dtype, got = self.dtype(value), self.adapter.read(value)
        if dtype.__class__ is not str:
            dtype = answers.text(self.adapter, "dtype", dtype)
        if got.__class__ is not np.ndarray or got.dtype is not NAMES.get(dtype):
            got = answers.array(self.adapter, got, dtype)
        if not is_copy(got) and (each := kept(got)):
            self.kept.append(each)
        return got, dtype

    def check_copies(self) -> None:
        """Refuse what was read in a program and is no longer as it was read."""
        if self.kept and (got := changed(self.kept)) is not None:
            now = f"it holds {answers.shown(got.tolist())} by now"
            raise BrokenAdapter(
                f"{self.adapter.name}: read() gave memory that changed later ({now}); it has to give a copy"
            )

    def _shown(
        self, requires: Any, memory: Any, strides: Any
    ) -> tuple[bool | None, int | None, tuple[int, ...] | None]:
        """What a tensor shows beside its elements, where the adapter's answers are what they have to be."""
        adapter = self.adapter
        if requires is not None and requires.__class__ is not bool:
            requires = answers.truth(adapter, "requires_grad", requires)
        if memory is not None and memory.__class__ is not int:
            memory = answers.number(adapter, "memory", memory)
        if strides is not None and (strides.__class__ is not tuple or not _WHOLE.issuperset(map(type, strides))):
            strides = answers.numbers(adapter, "strides", strides)
        return requires, memory, strides


_WHOLE = frozenset({int})


def _unseen(value: Value) -> Any:
    """Stands in for a method by which a framework would show more of a value: None."""
