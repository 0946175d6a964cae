"""The calls of functional frameworks with NumPy's interface: ops by their NumPy names, and gradients of functions."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Sequence
from traceback import walk_tb
from types import ModuleType
from typing import Any

from autograd_conformance.frameworks.calls import attempt
from autograd_conformance.frameworks.numpylike.ops import FURTHER, SEQUENCES, TABLE
from autograd_conformance.frameworks.numpylike.ways import TOGETHER, WAYS, Differentiator, Way
from autograd_conformance.frameworks.running.functional import Functional
from autograd_conformance.frameworks.running.templates import Templates
from autograd_conformance.frameworks.torchlike.refusals import refusal
from autograd_conformance.printing.functional import functional
from autograd_conformance.programs.foreign.text import message, type_of
from autograd_conformance.programs.language import Attrs
from autograd_conformance.programs.observations import Kind
from autograd_conformance.programs.own_numpy import np

Array = Any
"""An array of the framework, or what it passes to a function that it differentiates."""

FOREIGN = re.compile(r"does not support argument|no callable|not a valid JAX type|TracerArrayConversion", re.IGNORECASE)
"""The words of messages about a function that does not take what the framework passes to a differentiated function."""

DETACHES = ("stop_gradient", "lax.stop_gradient")
"""Names of the function that returns a value without history, in the framework's module."""


class NumpyInterface(Functional):
    """Calls a framework by the names of NumPy, and differentiates functions in one of the ways of `WAYS`."""

    def __init__(self, name: str) -> None:
        self.name, self.packages = name, (name.partition(".")[0],)
        self.ad = importlib.import_module(name)
        self.array_module = _array_module(self.ad, name)
        self.special = _special_module(self.array_module, name)
        self.detaching = next((each for each in DETACHES if _has(self.ad, each)), "")
        self.use(WAYS[0], TOGETHER[0])

    def use(self, way: Way, together: str) -> None:
        """Differentiate in a way, and return several results of a function by a template."""
        self.dialect = functional(
            prelude=self._imports() + way.prelude,
            tensor="np.array({data}, np.{dtype})",
            empty="np.zeros({shape}, np.{dtype})",
            ops={**TABLE, **FURTHER},
            sequences=SEQUENCES,
            detach=f"ad.{self.detaching}({{source}})" if self.detaching else "",
            vjp=way.vjp,
            ones="np.ones_like({root})",
            together=together,
        )
        self.templates = Templates.of(self.dialect)
        self.differentiate = Differentiator(way, together, self.templates.scope)

    def _imports(self) -> str:
        array_module = self.array_module.__name__
        named = [(self.name, "ad"), (array_module, "np")]
        named += [(self.special.__name__, "special")] if self.special is not None else []
        return "\n".join(f"import {module} as {short}" for module, short in named)

    def leaf(self, data: np.ndarray, requires_grad: bool) -> Array:
        """Returns an array with the elements and dtype of a NumPy array."""
        return self.array_module.array(data, getattr(self.array_module, data.dtype.name))

    def apply(self, op: str, operands: Sequence[Array], attrs: Attrs) -> Sequence[Array]:
        """Returns all results of an op."""
        out = self.templates.op(op, attrs, len(operands))(*operands)
        several = op in SEQUENCES or op == "slogdet" or isinstance(out, tuple | list)
        return tuple(out) if several else (out,)

    def detach(self, value: Array) -> Array:
        """Calls the framework's `stop_gradient`."""
        return eval(f"ad.{self.detaching}", self.templates.scope)(value)

    def vjp(
        self, function: Callable[..., tuple[Array, ...]], values: Sequence[Array], cotangents: Sequence[np.ndarray]
    ) -> Sequence[Array]:
        """Differentiates a function with respect to all arguments. Cotangents are copied into the framework's arrays,
        and back, so that the suite detects a write to them.
        """

        def traced(*arguments: Array) -> Array:
            results = function(*arguments)
            return results[0] if len(results) == 1 else self.differentiate.bundle(*results)

        given = tuple(self.leaf(each, False) for each in cotangents)
        gradients: Any = self.differentiate(traced, tuple(values), given)
        for array, copied in zip(cotangents, given, strict=True):
            array[...] = self.read(copied)
        return tuple(gradients)

    def read(self, value: Array) -> np.ndarray:
        """Returns a copy of the elements."""
        return np.array(value)

    def dtype(self, value: Array) -> str:
        """Returns the name of the dtype."""
        return np.asarray(value).dtype.name

    def classify(self, error: BaseException) -> Kind:
        """Returns the kind of an error: `NotImplementedError` says that a derivative is missing, and a refusal of an
        op's call that the framework lacks it.
        """
        if isinstance(error, NotImplementedError):
            return Kind.NOT_IMPLEMENTED
        return Kind.NO_KERNEL if in_op(error) and lacks(error) else Kind.UNKNOWN


def lacks(error: BaseException) -> str | None:
    """Returns why an error of an op's call says that the framework does not have it; None if it does not say so."""
    return refusal(error) or (said(error) if FOREIGN.search(str(error)) else None)


def said(error: BaseException) -> str:
    """Returns the type of an error and the first line of its message."""
    return f"{type_of(error)}: {message(error).partition(chr(10))[0]}"


def in_op(error: BaseException) -> bool:
    """Whether an op raised an error, and not the derivative of one."""
    codes = [frame.f_code for frame, _ in walk_tb(error.__traceback__)]
    ours = [code.co_name for code in codes if code.co_filename == __file__]
    return bool(ours) and ours[-1] == "apply"


def _array_module(module: ModuleType, name: str) -> ModuleType:
    """Returns the module with NumPy's functions: the framework's own, or NumPy itself if the framework works on it."""
    own = attempt(importlib.import_module, f"{name}.numpy")
    for each in (own, module):
        if isinstance(each, ModuleType) and all(hasattr(each, word) for word in ("array", "sum", "exp", "zeros")):
            return each
    return importlib.import_module("numpy")


def _special_module(array_module: ModuleType, name: str) -> ModuleType | None:
    """Returns the module with SciPy's special functions: the framework's own, or SciPy's if the framework works on
    NumPy itself; None if there is none.
    """
    names = (f"{name}.scipy.special", *(("scipy.special",) if array_module.__name__ == "numpy" else ()))
    found = (attempt(importlib.import_module, each) for each in names)
    return next((each for each in found if isinstance(each, ModuleType)), None)


def _has(module: ModuleType, path: str) -> bool:
    found: Any = module
    for part in path.split("."):
        found = getattr(found, part, None)
    return callable(found)
