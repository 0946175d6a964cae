"""Adapters whose own code fails before it has called its framework, adapters that pass on what their framework said,
and values that cannot be looked at: the worked example, one thing changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

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
    """An adapter that applies `exp` in some way of its own."""

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
OfNothing = applying(lambda self, operands, attrs: len(None))  # type: ignore[arg-type]


class Asserts(Tiny):
    """It asserts what is not so."""

    def apply(self, op: str, operands: Any, attrs: Any) -> Any:
        assert op != "exp", "who asked for that?"
        return super().apply(op, operands, attrs)


class InClosure(Tiny):
    """A function within a method misses a key."""

    def apply(self, op: str, operands: Any, attrs: Any) -> Any:
        def axis() -> int:
            return {"add": 1}[op]

        return (operands[axis()],) if op == "exp" else super().apply(op, operands, attrs)


class InHook(Tiny):
    """What reads a leaf's gradient divides by nothing."""

    def gradient(self, leaf: Any) -> Any:
        return leaf.grad if leaf.grad is None else leaf.grad / (1 // len(()))


# -- what nobody can tell ----------------------------------------------------------------------------------------------

WrongKeyword = applying(lambda self, operands, attrs: (tiny.exp(operands[0], axis=0),))
TooMany = applying(lambda self, operands, attrs: (tiny.exp(*operands, 1),))


class RaisesItself(Tiny):
    """It refuses in the framework's place, and says nothing of why."""

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
    """It gives its framework's errors another class."""

    def backward(self, roots: Any, cotangents: Any, retain_graph: Any) -> None:
        try:
            super().backward(roots, cotangents, retain_graph)
        except RuntimeError as error:
            raise LookupError("no longer there") from error


class TheirClass(Tiny):
    """It raises an error of its framework's class."""

    def apply(self, op: str, operands: Any, attrs: Any) -> Any:
        if op == "exp":
            raise type("Unheard", (tiny.NoHistory,), {"__module__": "examples.tiny"})("said so")
        return super().apply(op, operands, attrs)


class Own:
    """A value of a framework that stands beside its adapter."""

    def __init__(self, data: np.ndarray) -> None:
        self.data = data


class Beside(Tiny):
    """The framework's values are of a class of the adapter's module, and one of its functions fails."""

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
    """It says that its framework stands in its own module."""

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
    """Its flags cannot be looked at where a value has three elements."""

    def requires_grad(self, value: tiny.Tensor) -> bool:
        return _blind() if value.data.shape == (3, 3) else super().requires_grad(value)


class NumbersAreVectors(Tiny):
    """A number comes back as a vector of one element."""

    def leaf(self, data: np.ndarray, requires_grad: bool) -> tiny.Tensor:
        return super().leaf(data.reshape(1) if data.shape == () else data, requires_grad)


class NoEmpty(Tiny):
    """There are no tensors without elements."""

    def leaf(self, data: np.ndarray, requires_grad: bool) -> tiny.Tensor:
        if not data.size:
            raise ValueError("a tensor has elements")
        return super().leaf(data, requires_grad)


class NoMatrices(Tiny):
    """Everything comes back flat."""

    def leaf(self, data: np.ndarray, requires_grad: bool) -> tiny.Tensor:
        return super().leaf(data.reshape(-1) if data.ndim > 1 else data, requires_grad)


class SinglesAreDoubles(Tiny):
    """A leaf of float32 comes back as one of float64."""

    def leaf(self, data: np.ndarray, requires_grad: bool) -> tiny.Tensor:
        return super().leaf(data.astype(np.float64), requires_grad)


class Insists(SinglesAreDoubles):
    """The same, and that is to be judged."""

    insists = ("float32",)


class InsistsOnNumbers(NumbersAreVectors):
    """Numbers are to be judged."""

    insists = ("numbers",)


# -- errors that the adapter does not know -----------------------------------------------------------------------------


class KnowsNothing(Tiny):
    """Its `classify` knows no error."""

    insists = ()

    def classify(self, error: BaseException) -> Kind:
        return Kind.UNKNOWN


class KnowsHalf(KnowsNothing):
    """Its `classify` knows one error."""

    def classify(self, error: BaseException) -> Kind:
        return Kind.GRAPH_FREED if isinstance(error, tiny.GraphFreed) else Kind.UNKNOWN


class RefusesAll(KnowsNothing):
    """It refuses every call, by an error that nobody knows."""

    def backward(self, roots: Any, cotangents: Any, retain_graph: Any) -> None:
        roots[0].backward(tiny.Tensor(np.ones((7, 7))))


class NeverRefuses(KnowsNothing):
    """A graph that is freed is walked once more."""

    def backward(self, roots: Any, cotangents: Any, retain_graph: Any) -> None:
        super().backward(roots, cotangents, True)
