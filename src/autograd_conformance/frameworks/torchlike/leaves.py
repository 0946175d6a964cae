"""The call that makes a tensor from an array: `torch.tensor`, or the class `torch.Tensor` where only that works. The
way to read a tensor's elements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from types import ModuleType
from typing import Any

from autograd_conformance.frameworks.calls import Raised, attempt
from autograd_conformance.frameworks.torchlike.interface import TENSOR, Maker, Tensor, TorchInterface
from autograd_conformance.printing.dialect import Dialect
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.dtypes import USUAL
from autograd_conformance.programs.foreign.text import message, type_of
from autograd_conformance.programs.own_numpy import np


@dataclass(frozen=True, slots=True)
class Reader:
    """A way to read a tensor's elements as an array."""

    code: str
    """The expression, as a template of `value`."""
    read: Callable[[Any], Any]


NUMPY = Reader("{value}.detach().numpy()", lambda tensor: tensor.detach().numpy())
"""PyTorch's usual way."""

MAKERS = (
    TENSOR,
    Maker("Tensor"),
    Maker("Tensor", takes_dtype=False),
    Maker("Tensor", takes_dtype=False, takes_flag=False),
)
"""The calls that are tried, the usual one first."""

READERS = (
    NUMPY,
    Reader("{value}.numpy()", lambda tensor: tensor.numpy()),
    Reader("{value}.data", lambda tensor: tensor.data),
)
"""The ways to read elements that are tried, the usual one first."""


class Reading(TorchInterface):
    """An adapter that makes leaves, and reads elements, in the way that works."""

    reader: Reader = NUMPY

    def leaf(self, data: np.ndarray, requires_grad: bool) -> Tensor:
        """Returns a tensor with the array's dtype."""
        if not requires_grad and not self.maker.takes_flag:
            raise NotImplementedError("no leaf is constant: the class takes no requires_grad")
        return super().leaf(data, requires_grad)

    def elements(self, value: Tensor) -> np.ndarray:
        """Returns the elements as an array, which may share the tensor's memory. A gradient may be an array itself."""
        return np.asarray(value if isinstance(value, np.ndarray | np.generic) else self.reader.read(value))

    def requires_grad(self, value: Tensor) -> bool | None:
        """Whether the tensor requires grad. None where that is not claimed, as some frameworks have flags of leaves
        alone, and for an array in place of a gradient.
        """
        is_known = Capability.REQUIRES_GRAD in self.capabilities and not isinstance(value, np.ndarray | np.generic)
        return value.requires_grad if is_known else None

    def dtype(self, value: Tensor) -> str:
        """Returns the name of the dtype; that of the elements if the tensor has none."""
        return super().dtype(value if hasattr(value, "dtype") else self.elements(value))


def find_calls(adapter: Reading) -> dict[str, str]:
    """Sets the adapter's `maker` and `reader` to the first ones that make a right leaf of some dtype.

    If none do, it sets the usual ones if they make a leaf that may hold a gradient, since a wrong one is judged; else
    it returns the reason for each call, by the name of what is called.
    """
    whys: dict[str, str] = {}
    for adapter.reader, adapter.maker in product(READERS, MAKERS):
        reasons = [_why_wrong(adapter, dtype) for dtype in USUAL]
        if None in reasons:
            return {}
        if adapter.reader is NUMPY and adapter.maker.takes_flag:
            whys[f"{adapter.name}.{adapter.maker.name}"] = reasons[-1] or ""
    adapter.reader, adapter.maker = NUMPY, TENSOR
    made = [attempt(adapter.leaf, np.ones(2, dtype), True) for dtype in USUAL]
    held = [each if isinstance(each, Raised) else attempt(adapter.gradient, each) for each in made]
    return whys if all(isinstance(each, Raised) for each in held) else {}


def _why_wrong(adapter: Reading, dtype: str) -> str | None:
    """Returns why the adapter's call makes no right leaf of a dtype, in plain words; None if it makes one."""
    called = getattr(adapter.torch, adapter.maker.name, None)
    if called is None or isinstance(called, ModuleType):
        return "there is none" if called is None else "it is a module, not a function"
    data = np.asarray([1.5, -2.0], dtype)
    leaf = attempt(adapter.leaf, data, True)
    if isinstance(leaf, Raised):
        return f"it takes no array with requires_grad=True ({_described(leaf)})"
    for what, read, expected in (
        ("elements", lambda: adapter.read(leaf).tolist(), data.tolist()),
        ("dtype", lambda: adapter.dtype(leaf), dtype),
        ("requires_grad", lambda: leaf.requires_grad if adapter.maker.takes_flag else True, True),
    ):
        found = attempt(read)
        if isinstance(found, Raised):
            return f"the {what} of its tensor cannot be read ({_described(found)})"
        if not _is_equal(found, expected):
            return f"from the {dtype} array {data.tolist()} it makes a tensor with {what} {found}"
    held = attempt(adapter.gradient, leaf)
    return f"the gradient of its tensor cannot be read ({_described(held)})" if isinstance(held, Raised) else None


def _is_equal(found: object, expected: object) -> bool:
    """Whether something that a framework returned equals what it has to be, even if comparing it raises."""
    return attempt(lambda: bool(found == expected)) is True


def find_cotangents(adapter: Reading) -> None:
    """Sets the adapter's `takes_arrays`: whether a call is right with an array as its cotangent, and not with a
    tensor; and `numbers_gain_dimension`, if a cotangent without dimensions can be made no other way.
    """
    adapter.numbers_gain_dimension = _gain_dimension(adapter)

    def called(dtype: str) -> object:
        adapter.reset()
        leaf = adapter.leaf(np.asarray([1.5, -2.0], dtype), True)
        cotangent = np.asarray([3.0, 5.0], dtype)
        adapter.backward(adapter.apply("multiply", [leaf, leaf], ()), [cotangent], None)
        return np.asarray(adapter.elements(adapter.gradient(leaf))).tolist()

    for adapter.takes_arrays in (False, True):
        if any(_is_equal(attempt(called, dtype), [9.0, -20.0]) for dtype in USUAL):
            return
    adapter.takes_arrays = False


def _gain_dimension(adapter: Reading) -> bool:
    """Whether tensors made from numbers have one dimension, and `reshape(())` removes it."""

    def shapes(dtype: str) -> tuple[object, object]:
        made = adapter.tensor(np.asarray(1.5, dtype))
        return np.shape(adapter.elements(made)), np.shape(adapter.elements(made.reshape(())))

    return any(attempt(shapes, dtype) == ((1,), ()) for dtype in USUAL)


def _described(raised: Raised) -> str:
    first = message(raised.error).strip().partition("\n")[0]
    return f"{type_of(raised.error)}: {first}".rstrip(" :")


def importing_numpy(prelude: str) -> str:
    """Returns the first lines of a script, which import NumPy."""
    return prelude if "import numpy" in prelude else f"import numpy\n{prelude}"


def printed_with(maker: Maker, dialect: Dialect) -> Dialect:
    """Returns a dialect whose leaves are made by a call."""
    if maker is TENSOR:
        return dialect
    dtype = ", dtype=torch.{dtype}" if maker.takes_dtype else ""
    before, after = f"torch.{maker.name}(numpy.", f", dtype='{{dtype}}'){dtype}{{flags}})"
    return replace(
        dialect,
        differentiable=dialect.differentiable if maker.takes_flag else "",
        prelude=importing_numpy(dialect.prelude),
        tensor=f"{before}array({{data}}{after}",
        empty=f"{before}zeros({{shape}}{after}",
    )
