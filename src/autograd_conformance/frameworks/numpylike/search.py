"""Searches a functional framework for the features that it lacks: a way to differentiate, dtypes, claims and ops."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping

from autograd_conformance.frameworks.calls import Raised, attempt
from autograd_conformance.frameworks.numpylike.interface import NumpyInterface, lacks, said
from autograd_conformance.frameworks.numpylike.ops import FURTHER, TABLE
from autograd_conformance.frameworks.numpylike.ways import TOGETHER, WAYS
from autograd_conformance.frameworks.probing.simplest_calls import simplest_calls
from autograd_conformance.frameworks.torchlike.findings import Findings
from autograd_conformance.frameworks.torchlike.trials import operands_of
from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.printing.dialect import fill
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.dtypes import USUAL
from autograd_conformance.programs.own_numpy import np

ABSENT = re.compile(r"no (vjp|gradient|derivative)|not (yet )?(implemented|supported|differentiable)", re.IGNORECASE)
"""The words of messages about a derivative that a framework does not have."""

NOT_FUNCTIONAL = "a framework that differentiates functions has none"
"""The reason for a missing capability that is about gradients that tensors store, or about a recorded graph."""

CLAIMED = (
    Capability.FUNCTIONAL, Capability.COTANGENTS, Capability.MATERIALIZES, Capability.MULTIPLE_ROOTS,
    Capability.CREATE_GRAPH, Capability.DETACH, Capability.COTANGENT_CHECK,
)  # fmt: skip
"""The capabilities that a functional framework may have."""


def find_way(adapter: NumpyInterface) -> None:
    """Makes an adapter use the first way to differentiate that gives the right gradients; the first one that gives any,
    if all are wrong. The same holds for several results.
    """
    tried = [(way, together) for way in WAYS for together in TOGETHER if hasattr(adapter.ad, way.called)]

    def works(right: bool, several: bool) -> bool:
        wanted = [1, 3] if several else [2, 4]
        for way, together in tried:
            for dtype in USUAL:
                adapter.use(way, together)
                found = attempt(_gradient_of_two if several else _gradient, adapter, dtype)
                if not isinstance(found, Raised) and (not right or np.array_equal(found, wanted)):
                    return True
        return False

    with warnings.catch_warnings(action="ignore"):
        _ = works(True, True) or works(True, False) or works(False, False)


def _gradient(adapter: NumpyInterface, dtype: str) -> np.ndarray:
    """Returns the gradient of a square."""
    leaf, ones = adapter.leaf(np.array([1, 2], dtype), True), np.ones(2, dtype)
    return adapter.read(adapter.vjp(lambda x: (x * x,), [leaf], [ones])[0])


def _gradient_of_two(adapter: NumpyInterface, dtype: str) -> np.ndarray:
    """Returns the gradient of a function with two results."""
    leaf, ones = adapter.leaf(np.array([1, 2], dtype), True), np.ones(2, dtype)
    return adapter.read(adapter.vjp(lambda x: (x * x, -x), [leaf], [ones, ones.copy()])[0])


def search(adapter: NumpyInterface) -> Findings:
    """Returns the features that a framework lacks."""
    with warnings.catch_warnings(action="ignore"):
        return _found(adapter)


def _found(adapter: NumpyInterface) -> Findings:
    dtypes = {each: why for each in USUAL if (why := _missing_dtype(adapter, each))}
    dtype = next((each for each in USUAL if each not in dtypes), USUAL[0])
    lacking = {each.name: NOT_FUNCTIONAL for each in Capability if each not in CLAIMED}
    lacking |= {each.name: why for each, why in _capabilities(adapter, dtype)}
    ops = {name: why for name in sorted({**TABLE, **FURTHER}) if (why := missing_op(adapter, name, dtype))}
    return Findings(adapter.name, adapter.version, dtypes, lacking, ops)


def _missing_dtype(adapter: NumpyInterface, dtype: str) -> str | None:
    """Returns why a framework does not have a dtype; None if it has it."""
    result = attempt(lambda: adapter.dtype(adapter.leaf(np.ones(2, dtype), True)))
    if isinstance(result, Raised):
        return f"an array of it cannot be made: {said(result.error)}"
    return None if result == dtype else f"an array of it reads back as {result}"


def _capabilities(adapter: NumpyInterface, dtype: str) -> Iterator[tuple[Capability, str]]:
    """Yields the missing capabilities, each with the reason."""
    tries: Mapping[Capability, Callable[[NumpyInterface, str], object]] = {
        Capability.FUNCTIONAL: _gradient,
        Capability.MATERIALIZES: _unused,
        Capability.CREATE_GRAPH: _second,
    }
    if not adapter.detaching:
        yield Capability.DETACH, "it has no stop_gradient"
    for capability, trial in tries.items():
        found = attempt(trial, adapter, dtype)
        if isinstance(found, Raised) and (capability is not Capability.CREATE_GRAPH or _says_absent(found.error)):
            yield capability, said(found.error)
    several = attempt(_gradient_of_two, adapter, dtype)
    if isinstance(several, Raised):
        yield Capability.MULTIPLE_ROOTS, said(several.error)
    elif not np.array_equal(several, [1, 3]):
        yield Capability.MULTIPLE_ROOTS, "no form of several results was found that it differentiates"
    if not all(_refuses_cotangent(adapter, np.ones(shape, dtype)) for shape in ((), (1,), (3,), (2, 2))):
        yield Capability.COTANGENT_CHECK, "a cotangent of another shape is accepted"


def _refuses_cotangent(adapter: NumpyInterface, cotangent: np.ndarray) -> bool:
    """Whether a framework refuses a cotangent for a result of two elements."""
    leaf = adapter.leaf(np.ones(2, cotangent.dtype), True)
    return isinstance(attempt(lambda: adapter.vjp(lambda x: (x * x,), [leaf], [cotangent])), Raised)


def _unused(adapter: NumpyInterface, dtype: str) -> object:
    """Returns the gradient of an input that a function does not use, as an array."""
    leaf, ones = adapter.leaf(np.array([1, 2], dtype), True), np.ones(2, dtype)
    other = adapter.leaf(np.array([3, 4], dtype), True)
    unused = adapter.vjp(lambda x, y: (x * x,), [leaf, other], [ones])[1]
    if unused is None or adapter.read(unused).dtype == object:
        raise NotImplementedError("the gradient of an unused input is no array")
    return unused


def _second(adapter: NumpyInterface, dtype: str) -> object:
    """Returns a second derivative."""
    ones = np.ones(2, dtype)
    leaf = adapter.leaf(np.array([1, 2], dtype), True)
    return adapter.vjp(lambda x: tuple(adapter.vjp(lambda y: (y * y * y,), [x], [ones])), [leaf], [ones.copy()])[0]


def missing_op(adapter: NumpyInterface, name: str, dtype: str) -> str | None:
    """Returns why a framework does not have an op or its derivative; None if it has both."""
    template = {**TABLE, **FURTHER}[name]
    op, why = row_of(name), None
    for shapes, attrs in simplest_calls(op):
        if adapter.special is None and "special." in fill(template, [f"x{k}" for k in range(len(shapes))], attrs):
            return f"there is no module {adapter.name}.scipy.special"
        leaves = [adapter.leaf(array, True) for array in operands_of(op, shapes, dtype)]
        traced: list[bool] = []

        def function(*inputs: object) -> tuple[object, ...]:
            first = adapter.apply(name, inputs, attrs)[:1]  # noqa: B023
            traced.append(True)  # noqa: B023
            return tuple(first)

        first = attempt(lambda: adapter.apply(name, leaves, attrs)[0])  # noqa: B023
        if isinstance(first, Raised):
            why = lacks(first.error)
            continue
        if np.asarray(first).dtype.kind != "f":
            return "its result is no array of numbers"
        ones = np.ones_like(adapter.read(first))
        result = attempt(lambda: adapter.vjp(function, leaves, [ones]))  # noqa: B023
        match result:
            case Raised(error) if not traced:
                return lacks(error)
            case Raised(error):
                return said(error) if _says_absent(error) else None
        return None
    return why


def _says_absent(error: BaseException) -> bool:
    """Whether an error says that a derivative is missing."""
    return isinstance(error, NotImplementedError) or ABSENT.search(str(error)) is not None
