"""Adapters that raise before they call their framework, pass on its errors, or cannot read properties of values.

Each is the worked example with one change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from autograd_conformance.frameworks.adapter import Adapter
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.observations import Kind
from examples import tiny
from examples.tiny_adapter import Tiny

TABLE: Mapping[str, Any] = {"exp": None}
AXES = {"add": 1}


def _axis(attrs: Mapping[str, Any]) -> Any:
    return attrs["axis"]


def _scale(by: float, *, of: float) -> float:
    return by * of


def applying(apply: Callable[..., Any]) -> type[Tiny]:
    """An adapter with its own implementation of `exp`."""

    def applied(self: Tiny, op: str, operands: Any, attrs: Any) -> Any:
        return apply(self, operands, attrs) if op == "exp" else Tiny.apply(self, op, operands, attrs)

    return type("Applying", (Tiny,), {"apply": applied, "__module__": __name__})


# -- the adapter's own bugs, wherever they are -------------------------------------------------------------------------

InHelper = applying(lambda self, operands, attrs: _axis(dict(attrs)))
InComprehension = applying(lambda self, operands, attrs: [AXES[name] for name in ("add", "exp")])
InGenerator = applying(lambda self, operands, attrs: tuple(1 / count for count in (1, 0)))
OfTable = applying(lambda self, operands, attrs: TABLE["exp"](attrs))
OfText = applying(lambda self, operands, attrs: int("two"))
OfNumPy = applying(lambda self, operands, attrs: np.reshape(np.ones(3), (2, 2)))
OfKeyword = applying(lambda self, operands, attrs: _scale(2.0, off=1.0))
OfIndex = applying(lambda self, operands, attrs: (operands[7],))
OfBase = applying(lambda self, operands, attrs: Adapter.apply(self, "exp", operands, attrs))
OfNothing = applying(lambda self, operands, attrs: len(None))  # type: ignore[arg-type]


class Asserts(Tiny):
    """A false assertion."""

    def apply(self, op: str, operands: Any, attrs: Any) -> Any:
        assert op != "exp", "who asked for that?"
        return super().apply(op, operands, attrs)


class InClosure(Tiny):
    """A function inside a method looks up a missing key."""

    def apply(self, op: str, operands: Any, attrs: Any) -> Any:
        def axis() -> int:
            return {"add": 1}[op]

        return (operands[axis()],) if op == "exp" else super().apply(op, operands, attrs)


class InHook(Tiny):
    """The method that reads a leaf's gradient divides by zero."""

    def gradient(self, leaf: Any) -> Any:
        return leaf.grad if leaf.grad is None else leaf.grad / (1 // len(()))


# -- what nobody can tell ----------------------------------------------------------------------------------------------

WrongKeyword = applying(lambda self, operands, attrs: (tiny.exp(operands[0], axis=0),))
TooMany = applying(lambda self, operands, attrs: (tiny.exp(*operands, 1),))


class RaisesItself(Tiny):
    """The adapter raises in place of the framework, without a reason."""

    def apply(self, op: str, operands: Any, attrs: Any) -> Any:
        if op == "exp":
            raise RuntimeError("status 7")
        return super().apply(op, operands, attrs)


# -- the framework's ---------------------------------------------------------------------------------------------------

OfOperator = applying(lambda self, operands, attrs: (operands[0] @ operands[0],))
OfAttribute = applying(lambda self, operands, attrs: (operands[0].exponential,))
OfIteration = applying(lambda self, operands, attrs: list(operands[0]))
OfConversion = applying(lambda self, operands, attrs: (float(operands[0]),))


def _fails(*_: Any) -> None:
    raise tiny.WrongCotangent("inside of the framework")


class Translates(Tiny):
    """The adapter converts its framework's errors to another class."""

    def backward(self, roots: Any, cotangents: Any, retain_graph: Any) -> None:
        try:
            super().backward(roots, cotangents, retain_graph)
        except RuntimeError as error:
            raise LookupError("no longer there") from error


class TheirClass(Tiny):
    """The adapter raises an exception of its framework's class."""

    def apply(self, op: str, operands: Any, attrs: Any) -> Any:
        if op == "exp":
            raise type("Unheard", (tiny.NoHistory,), {"__module__": "examples.tiny"})("said so")
        return super().apply(op, operands, attrs)


class Own:
    """A framework's value whose class is defined beside its adapter."""

    def __init__(self, data: np.ndarray) -> None:
        self.data = data


class Beside(Tiny):
    """The class of the framework's values is in the adapter's module, and one of the adapter's functions fails."""

    def leaf(self, data: np.ndarray, requires_grad: bool) -> Any:
        return Own(data)

    def read(self, value: Any) -> np.ndarray:
        return np.array(value.data)

    def dtype(self, value: Any) -> str:
        return str(value.data.dtype)

    def requires_grad(self, value: Any) -> bool:
        return True

    def apply(self, op: str, operands: Any, attrs: Any) -> Any:
        return (_freed(operands[0]),)


def _freed(value: Own) -> Own:
    raise RuntimeError("freed")


class Declared(Tiny):
    """The adapter declares that its framework is in the adapter's own module."""

    packages = (__name__,)

    def apply(self, op: str, operands: Any, attrs: Any) -> Any:
        if op == "exp":
            raise RuntimeError("it cannot be done")
        return super().apply(op, operands, attrs)


# -- what cannot be looked at ------------------------------------------------------------------------------------------


def _blind(*_: Any) -> Any:
    raise RuntimeError("there is no storage to look at")


NoMemory = type("NoMemory", (Tiny,), {"memory": _blind, "capabilities": Tiny.capabilities | {Capability.MEMORY}})
NoStrides = type("NoStrides", (Tiny,), {"strides": _blind, "capabilities": Tiny.capabilities | {Capability.LAYOUT}})
NoIdentity = type("NoIdentity", (Tiny,), {"identity": _blind})
NoFlag = type("NoFlag", (Tiny,), {"requires_grad": _blind})


class BlindLater(Tiny):
    """`requires_grad` raises for values with three elements."""

    def requires_grad(self, value: tiny.Tensor) -> bool:
        return _blind() if value.data.shape == (3, 3) else super().requires_grad(value)


class NumbersAreVectors(Tiny):
    """A number reads back as a vector of one element."""

    def leaf(self, data: np.ndarray, requires_grad: bool) -> tiny.Tensor:
        return super().leaf(data.reshape(1) if data.shape == () else data, requires_grad)


class NoEmpty(Tiny):
    """Tensors without elements are not supported."""

    def leaf(self, data: np.ndarray, requires_grad: bool) -> tiny.Tensor:
        if not data.size:
            raise ValueError("a tensor has elements")
        return super().leaf(data, requires_grad)


class NoMatrices(Tiny):
    """Every tensor reads back flat."""

    def leaf(self, data: np.ndarray, requires_grad: bool) -> tiny.Tensor:
        return super().leaf(data.reshape(-1) if data.ndim > 1 else data, requires_grad)


class SinglesAreDoubles(Tiny):
    """A float32 leaf reads back as float64."""

    def leaf(self, data: np.ndarray, requires_grad: bool) -> tiny.Tensor:
        return super().leaf(data.astype(np.float64), requires_grad)


class Insists(SinglesAreDoubles):
    """The same, with float32 in `insists`, so that it is judged."""

    insists = ("float32",)


class InsistsOnNumbers(NumbersAreVectors):
    """The adapter insists on numbers, so that they are judged."""

    insists = ("numbers",)


# -- errors that the adapter does not know -----------------------------------------------------------------------------


class KnowsNothing(Tiny):
    """`classify` recognises no error."""

    insists = ()

    def classify(self, error: BaseException) -> Kind:
        return Kind.UNKNOWN


class KnowsHalf(KnowsNothing):
    """`classify` recognises one error."""

    def classify(self, error: BaseException) -> Kind:
        return Kind.GRAPH_FREED if isinstance(error, tiny.GraphFreed) else Kind.UNKNOWN


class RefusesAll(KnowsNothing):
    """Every call raises an error that `classify` does not recognise."""

    def backward(self, roots: Any, cotangents: Any, retain_graph: Any) -> None:
        roots[0].backward(tiny.Tensor(np.ones((7, 7))))


class NeverRefuses(KnowsNothing):
    """A second call through a freed graph succeeds."""

    def backward(self, roots: Any, cotangents: Any, retain_graph: Any) -> None:
        super().backward(roots, cotangents, True)
