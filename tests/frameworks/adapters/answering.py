"""Adapters that return invalid values: the worked example with one changed return value. The framework is correct.

`tests/frameworks/test_validation.py` contains the expected messages.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from examples import tiny
from examples.tiny_adapter import Tiny


class Growing(Tiny):
    """A call adds to a gradient in place."""

    def reset(self) -> None:
        self.leaves: list[tiny.Tensor] = []

    def leaf(self, data: np.ndarray, requires_grad: bool) -> tiny.Tensor:
        self.leaves.append(super().leaf(data, requires_grad))
        return self.leaves[-1]

    def backward(self, roots: Any, cotangents: Any, retain_graph: Any) -> None:
        before = [leaf.grad for leaf in self.leaves]
        super().backward(roots, cotangents, retain_graph)
        for leaf, old in zip(self.leaves, before, strict=True):
            if old is not None and leaf.grad is not None and leaf.grad is not old:
                old[...] = leaf.grad
                leaf.grad = old


def reading(changed: Callable[[np.ndarray], Any], when: Callable[[Any], bool] = lambda value: True) -> type[Tiny]:
    """An adapter whose `read` changes some values."""

    class Reading(Tiny):
        def read(self, value: Any) -> Any:
            array = super().read(value)
            return changed(array) if when(value) else array

    return Reading


def is_gradient(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def is_result(value: Any) -> bool:
    return isinstance(value, tiny.Tensor) and bool(value.inputs)


class Units(np.ndarray):
    """A subclass of arrays with different arithmetic."""


def masked(array: np.ndarray) -> np.ndarray:
    return np.ma.MaskedArray(array, mask=np.zeros(array.shape, bool))


def named(name: str) -> Callable[[np.ndarray], np.ndarray]:
    return lambda array: array.astype(name)


class Interface:
    """An object that NumPy can convert to an array."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        return self.array


Masked = reading(masked, is_gradient)
Subclass = reading(lambda array: array.view(Units), is_gradient)
Records = reading(lambda array: array.view(np.recarray), is_gradient)
Wide = reading(named("float64"), lambda value: is_gradient(value) and value.dtype == np.float32)
Narrow = reading(named("float32"), lambda value: is_gradient(value) and value.dtype == np.float64)
Half = reading(named("float16"), is_result)
Long = reading(named("longdouble"), is_gradient)
Complex = reading(named("complex128"), is_gradient)
Whole = reading(named("int64"), is_result)
Truths = reading(named("bool"), is_result)
Objects = reading(named("object"), is_gradient)
Texts = reading(named("str"), is_result)
Spans = reading(lambda array: array.astype("int64").view("timedelta64[s]"), is_gradient)
Fields = reading(lambda array: array.astype([("x", array.dtype)]), is_result)
Convertible = reading(Interface, is_gradient)
Memory = reading(lambda array: memoryview(np.ascontiguousarray(array)), is_result)


class NamesShort(Tiny):
    """`dtype` returns NumPy's abbreviations."""

    def dtype(self, value: Any) -> str:
        name = super().dtype(value)
        return {"float64": "f8", "float32": "f4"}[name] if is_gradient(value) else name


class NamesModule(Tiny):
    """`dtype` returns a name with a module."""

    def dtype(self, value: Any) -> str:
        return f"numpy.{super().dtype(value)}" if is_gradient(value) else super().dtype(value)


class NamesBlank(Tiny):
    """`dtype` returns a name with a trailing blank."""

    def dtype(self, value: Any) -> str:
        return super().dtype(value) + " " * is_gradient(value)


# -- what is right, if unusual -----------------------------------------------------------------------------------------

BigEndian = reading(lambda array: array.astype(array.dtype.newbyteorder(">")))
Fortran = reading(np.asfortranarray)
Reversed = reading(lambda array: np.flip(np.flip(array).copy()))
Numbers = reading(lambda array: array[()])
Frozen = reading(lambda array: np.frombuffer(array.tobytes(), array.dtype).reshape(array.shape))


class Foreign(Tiny):
    """Gradients have a dtype that NumPy lacks, and `dtype` names it correctly: a fault of the framework."""

    def dtype(self, value: Any) -> str:
        return "bfloat16" if is_gradient(value) else super().dtype(value)

    def read(self, value: Any) -> np.ndarray:
        return super().read(value).astype("float32") if is_gradient(value) else super().read(value)


class Immutable(Tiny):
    """`read` returns read-only memory, and the framework never writes to it."""

    def read(self, value: Any) -> np.ndarray:
        shown = np.asarray(value.data if isinstance(value, tiny.Tensor) else value).view()
        shown.flags.writeable = False
        return shown


# -- identities --------------------------------------------------------------------------------------------------------


def identifying(identity: Callable[[Any], Any]) -> type[Tiny]:
    class Identifying(Tiny):
        def identity(self, gradient: np.ndarray) -> Any:
            return identity(gradient)

    return Identifying


numbers = count()
One = identifying(lambda gradient: 1)
IsTrue = identifying(lambda gradient: True)
IsNumPyTrue = identifying(lambda gradient: np.bool_(True))
Counts = identifying(lambda gradient: next(numbers))
Dtype = identifying(lambda gradient: hash(gradient.dtype))
Fraction = identifying(lambda gradient: float(id(gradient)))
Dimensions = identifying(lambda gradient: gradient.ndim)


class Wraps(Tiny):
    """Each call of `gradient` returns a new wrapper object, and `identity` identifies the wrapper."""

    def gradient(self, leaf: tiny.Tensor) -> Any:
        return None if leaf.grad is None else leaf.grad.view()


class OneLater(Tiny):
    """`identity` returns the same number from its 30th call on."""

    asked = 0

    def identity(self, gradient: np.ndarray) -> int:
        self.asked += 1
        return id(gradient) if self.asked < 31 else 1


class Shares(Tiny):
    """A fault of the framework: the gradients of two leaves are one array, and `identity` reports that correctly."""

    def reset(self) -> None:
        self.leaves: list[tiny.Tensor] = []

    def leaf(self, data: np.ndarray, requires_grad: bool) -> tiny.Tensor:
        self.leaves.append(super().leaf(data, requires_grad))
        return self.leaves[-1]

    def backward(self, roots: Any, cotangents: Any, retain_graph: Any) -> None:
        super().backward(roots, cotangents, retain_graph)
        held = [leaf for leaf in self.leaves if leaf.grad is not None]
        for leaf in held[1:]:
            if leaf.grad.shape == held[0].grad.shape and np.array_equal(leaf.grad, held[0].grad):  # type: ignore[union-attr]
                leaf.grad = held[0].grad


# -- copies ------------------------------------------------------------------------------------------------------------


class ReadsView(Growing):
    """`read` returns a read-only view of the gradient's own memory."""

    def read(self, value: Any) -> np.ndarray:
        if not is_gradient(value):
            return super().read(value)
        shown = value.view()
        shown.flags.writeable = False
        return shown


class ReadsLater(Growing):
    """From the 40th gradient on, `read` returns the array itself."""

    read_so_far = 0

    def read(self, value: Any) -> np.ndarray:
        self.read_so_far += is_gradient(value)
        return value if is_gradient(value) and self.read_so_far > 40 else super().read(value)


class ReadsMatrices(Growing):
    """For a matrix, `read` returns the array transposed twice, which is a view of the array."""

    def read(self, value: Any) -> np.ndarray:
        return value.T.T if is_gradient(value) and value.ndim == 2 else super().read(value)


class ReadsBuffer(Tiny):
    """For all values but leaves, `read` copies into the same buffer."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.buffer = np.empty(4096)

    def read(self, value: Any) -> np.ndarray:
        array = super().read(value)
        if not is_result(value) or array.dtype != self.buffer.dtype:
            return array
        shown = self.buffer[: array.size].reshape(array.shape)
        shown[...] = array
        return shown


class ReadsRing(Tiny):
    """For all values but leaves, `read` copies into one of two alternating buffers."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.ring: deque[bytearray] = deque(bytearray(1 << 12) for _ in range(2))

    def read(self, value: Any) -> np.ndarray:
        array = super().read(value)
        if not is_result(value) or not array.size:
            return array
        self.ring.rotate()
        self.ring[0][: array.nbytes] = array.tobytes()
        return np.frombuffer(self.ring[0], array.dtype, array.size).reshape(array.shape)
