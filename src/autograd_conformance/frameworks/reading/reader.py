"""Reads tensors through an adapter's methods, and validates each return value.

Memory, strides, identity and flags are None if their method raises, because programs do not request them. Reading the
elements may compute them, so an exception there may be the framework's outcome.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

from autograd_conformance.frameworks.adapter import Adapter, Value
from autograd_conformance.frameworks.calls import Raised, attempt
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.frameworks.reading import identities, validation
from autograd_conformance.frameworks.reading.copies import Snapshot, changed, is_copy, snapshot
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.foreign.arrays import NAMES
from autograd_conformance.programs.foreign.text import message, type_of
from autograd_conformance.programs.observations import Gradient, Tensor
from autograd_conformance.programs.own_numpy import np

_TRUSTED: WeakValueDictionary[int, Adapter] = WeakValueDictionary()
"""By their `id`, the adapters whose `read` was found to return copies of gradients. It holds no adapter that is gone: a
later one may get its `id`.
"""

_WHOLE = frozenset({int})


class Unread(BaseException):
    """The method `call` raised `error` while a value was read."""

    def __init__(self, call: str, error: BaseException) -> None:
        super().__init__(call)
        self.call, self.error = call, error


class Reader:
    """Reads tensors and gradients. Properties that the adapter does not claim, or that are `unreadable`, are None.

    A return value of the expected class is accepted without further checks, because every value of every program is
    read here.
    """

    def __init__(self, adapter: Adapter, unreadable: frozenset[Capability] = frozenset()) -> None:
        shows = {*adapter.capabilities} - unreadable if unreadable else adapter.capabilities
        self.adapter = adapter
        self.dtype = adapter.dtype
        self.requires_grad = _always_none if Capability.REQUIRES_GRAD in unreadable else adapter.requires_grad
        self.identity = adapter.identity if Capability.IDENTITY in shows else _always_none
        self.memory = adapter.memory if Capability.MEMORY in shows else _always_none
        self.strides = adapter.strides if Capability.LAYOUT in shows else _always_none
        self.grad_requires_grad = self.requires_grad if Capability.CREATE_GRAPH in shows else _always_none
        self.is_trusted = id(adapter) in _TRUSTED
        self.snapshots: list[Snapshot] = []
        """Arrays that were read and are not known to be copies."""
        self.failed_reads: list[str] = []
        """Descriptions of the properties that could not be read since this list was last cleared."""

    def tensor(self, value: Value) -> Tensor:
        """Read a tensor with its properties."""
        requires, (elements, dtype), memory, strides = self._read_properties(value, self.requires_grad)
        return Tensor(elements, dtype, *self._shown(requires, memory, strides))

    def gradient(self, leaf: Value) -> Gradient | None:
        """Read the gradient that a tensor stores; None if it stores none."""
        adapter = self.adapter
        gradient = self._read_required("gradient", adapter.gradient, leaf)
        if gradient is None:
            return None
        if not self.is_trusted:
            self._read_required("read", lambda value: validation.check_copy(adapter, value, "a gradient"), gradient)
            _TRUSTED[id(adapter)] = adapter
            self.is_trusted = True
        identity, second = (
            self.read_optional("identity", self.identity, gradient),
            self.read_optional("identity", self.identity, gradient),
        )
        if identity is not None and identity.__class__ is not int:
            identity = validation.number(adapter, "identity", identity)
        if identity != second:
            identities.refuse_unstable(adapter, identity, second)
        requires, (elements, dtype), memory, strides = self._read_properties(gradient, self.grad_requires_grad)
        return Gradient(elements, dtype, identity, *self._shown(requires, memory, strides))

    def _read_properties(
        self, value: Value, flag: Callable[[Value], Any]
    ) -> tuple[Any, tuple[np.ndarray, str], Any, Any]:
        """Read the elements and properties of a tensor. The elements are read only once, because a framework that
        computes them lazily may raise the first time and return a result the second time.
        """
        try:
            elements = self.elements(value)
        except (AdapterError, Unread):
            raise
        except BaseException as error:
            raise Unread("read()", error) from error
        try:
            return flag(value), elements, self.memory(value), self.strides(value)
        except AdapterError:
            raise
        except BaseException:  # read one property at a time, to find the one that raised
            return (
                self.read_optional("requires_grad", flag, value),
                elements,
                self.read_optional("memory", self.memory, value),
                self.read_optional("strides", self.strides, value),
            )

    def read_optional(self, name: str, method: Callable[..., Any], *arguments: Value) -> Any:
        """Call a method that reads a property. If it raises, return None and record the failure."""
        result = attempt(method, *arguments)
        if isinstance(result, Raised):
            self.failed_reads.append(cannot(name, result.error))
            return None
        return result

    def _read_required(self, name: str, method: Callable[[Value], Any], value: Value) -> Any:
        """Call a method without which the value cannot be read. Raises `Unread` if it raises."""
        try:
            return method(value)
        except AdapterError:
            raise
        except BaseException as error:
            raise Unread(f"{name}()", error) from error

    def elements(self, value: Value) -> tuple[np.ndarray, str]:
        """Read the elements of a tensor, and the name of its dtype."""
        try:
            dtype = self.dtype(value)
        except AdapterError:
            raise
        except BaseException as error:
            raise Unread("dtype()", error) from error
        got = self.adapter.read(value)
        if dtype.__class__ is not str:
            dtype = validation.text(self.adapter, "dtype", dtype)
        if got.__class__ is not np.ndarray or got.dtype is not NAMES.get(dtype):
            got = validation.array(self.adapter, got, dtype)
        if not is_copy(got) and (each := snapshot(got)):
            self.snapshots.append(each)
        return got, dtype

    def check_copies(self) -> None:
        """Raise `AdapterError` if an array that was read in this program has changed."""
        if self.snapshots and (got := changed(self.snapshots)) is not None:
            now = f"it now holds {validation.shown(got.tolist())}"
            raise AdapterError(
                f"{self.adapter.name}: read() gave memory that changed later ({now}); it has to give a copy"
            )

    def _shown(
        self, requires: Any, memory: Any, strides: Any
    ) -> tuple[bool | None, int | None, tuple[int, ...] | None]:
        """Validate the flag, memory and strides of a tensor, and return them."""
        adapter = self.adapter
        if requires is not None and requires.__class__ is not bool:
            requires = validation.truth(adapter, "requires_grad", requires)
        if memory is not None and memory.__class__ is not int:
            memory = validation.number(adapter, "memory", memory)
        if strides is not None and (strides.__class__ is not tuple or not _WHOLE.issuperset(map(type, strides))):
            strides = validation.numbers(adapter, "strides", strides)
        return requires, memory, strides


def _always_none(value: Value) -> Any:
    """Returns None, in place of the method of a property that cannot be read."""


def cannot(name: str, error: BaseException) -> str:
    """Returns the description of a method that raised: ``memory() raised RuntimeError: no storage``."""
    return f"{name}() raised {type_of(error)}: {message(error)}"
