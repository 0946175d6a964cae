"""The probe: finds by experiment which claimed features a framework has. It runs once, after the smoke test.

The probe makes and reads values of each dtype and form. Programs do not use a dtype or form that does not read back as
written. A capability whose method raises is treated as missing, even if the adapter claims it. The header of a report
lists each such feature once. An adapter's `insists` exempts features from the probe, so that rules judge them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from autograd_conformance.frameworks.adapter import Adapter, Value
from autograd_conformance.frameworks.calls import Raised, attempt, reset
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.frameworks.reading.reader import cannot
from autograd_conformance.ops.limits import outside
from autograd_conformance.ops.rows.shapes import FORMS, size
from autograd_conformance.ops.simplest import simplest
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.foreign.text import message, type_of
from autograd_conformance.programs.language import Shape
from autograd_conformance.programs.own_numpy import np

ERRORS = "errors"
"""The entry of `insists` for an adapter that recognises every error of its framework. Any other error of such a
framework is a violation, not a refusal of the call.
"""
METHOD_OF: dict[Capability, str] = {
    Capability.REQUIRES_GRAD: "requires_grad",
    Capability.IDENTITY: "identity",
    Capability.MEMORY: "memory",
    Capability.LAYOUT: "strides",
}
"""For each capability that the probe tries, the adapter's method that reads its feature from a value; a method that
raises makes the capability missing.
"""
VIEWS = ("reshape", "expand_dims", "flatten", "slice")
"""Ops that return views in frameworks with views."""


@dataclass(frozen=True)
class ProbeResult:
    """The claimed features of a framework that the probe did not find."""

    missing: frozenset[Capability] = frozenset()
    """Claimed capabilities that the probe did not find."""
    dtypes: frozenset[str] = frozenset()
    """Dtypes in which a leaf does not read back as written."""
    forms: frozenset[str] = frozenset()
    """Forms of leaves, as named by `ops.rows.shapes.form`, that do not read back as written."""
    notes: tuple[str, ...] = ()
    """The missing features in words, one line each with the reason."""

    def capabilities(self, adapter: Adapter) -> frozenset[Capability]:
        """Returns the capabilities that an adapter claims and the probe found. `KNOWS_ERRORS` follows from `insists`
        alone.
        """
        knows = frozenset({Capability.KNOWS_ERRORS} if ERRORS in insisted(adapter) else ())
        return (frozenset(adapter.capabilities) - {Capability.KNOWS_ERRORS} - self.missing) | knows


NOTHING_MISSING = ProbeResult()


def insisted(adapter: Adapter) -> frozenset[str]:
    """Returns the features that an adapter's `insists` exempts from the probe."""
    return frozenset(adapter.insists)


def probe(adapter: Adapter) -> ProbeResult:
    """Probe an adapter that passed the smoke test. Raises `AdapterError` if no dtype is left, or if neither single
    numbers nor vectors read back as written.
    """
    insists = insisted(adapter)
    dtypes = {d: why for d in adapter.dtypes if d not in insists and (why := _changed(adapter, d, _usual(adapter)))}
    usable = [d for d in adapter.dtypes if d not in dtypes]
    if not usable:
        raise AdapterError(f"{adapter.name}: {next(iter(dtypes.values()))}; no dtype is left to test")
    forms = {
        name: why
        for name, shape in _tried(adapter)
        if name not in insists and (why := _changed(adapter, usable[0], shape))
    }
    if {"numbers", "vectors"} <= {*forms}:
        raise AdapterError(f"{adapter.name}: {forms['vectors']}; a single number does not read back, either")
    unreadable = dict(_unreadable(adapter, usable[0], _usual(adapter)))
    notes = (
        *(f"{why}: programs in {name} are not drawn" for name, why in dtypes.items()),
        *(f"{why}: leaves that are {name} are not drawn" for name, why in forms.items()),
        *(
            f"{METHOD_OF[each]} cannot be read ({why}): its rules are not applicable"
            for each, why in unreadable.items()
        ),
    )
    return ProbeResult(
        frozenset(unreadable), frozenset(dtypes), frozenset(forms), tuple(f"{adapter.name}: {n}" for n in notes)
    )


def _usual(adapter: Adapter) -> Shape:
    return () if adapter.traits.scalars else (2,)


def _tried(adapter: Adapter) -> Iterator[tuple[str, Shape]]:
    """Returns the forms of leaves that the framework may have, each with a shape: ``("vectors", (3,))``."""
    return ((name, shape) for name, shape in FORMS.items() if _usual(adapter) or shape == ())


def _data(dtype: str, shape: Shape) -> np.ndarray:
    return (np.arange(size(shape), dtype=dtype) + np.asarray(1, dtype)).reshape(shape)


def _changed(adapter: Adapter, dtype: str, shape: Shape) -> str | None:
    """Returns the reason why a leaf does not read back as written; None if it does."""
    data, what = _data(dtype, shape), f"a {dtype} leaf of shape {shape}"
    match attempt(_written, adapter, data.copy()):
        case Raised(error):
            return f"{what} cannot be made and read ({type_of(error)}: {message(error)})"
        case (back, named):
            pass
    if isinstance(back, np.ndarray | np.generic) and back.shape != shape:
        return f"{what} reads back with shape {back.shape}"
    return f"{what} reads back as {named}" if isinstance(named, str) and named != dtype else None


def _written(adapter: Adapter, data: np.ndarray) -> tuple[object, object]:
    """Returns the elements and the dtype of a leaf, as they read back."""
    reset(adapter)
    leaf = adapter.leaf(data, True)
    return adapter.read(leaf), adapter.dtype(leaf)


def _unreadable(adapter: Adapter, dtype: str, shape: Shape) -> Iterator[tuple[Capability, str]]:
    """Yields the claimed capabilities whose method raises, each with the reason."""
    values = list(_values(adapter, dtype, shape))
    gradients = [each for each in map(_none_if_raised(adapter.gradient), values[:1]) if each is not None]
    flagged = (
        gradients if Capability.CREATE_GRAPH in adapter.capabilities else []
    )  # other frameworks need no flag on gradients
    there = {Capability.IDENTITY: gradients, Capability.REQUIRES_GRAD: [*values, *flagged]}
    for capability, name in METHOD_OF.items():
        if capability in adapter.capabilities:
            looked_at = there.get(capability, [*values, *gradients])
            why = next(filter(None, (_raises(getattr(adapter, name), each, name) for each in looked_at)), None)
            if why:
                yield capability, why


def _values(adapter: Adapter, dtype: str, shape: Shape) -> Iterator[Value]:
    """Yields a leaf with a gradient, a result, a view, and leaves of other forms, without those that cannot be made."""
    reset(adapter)
    leaf = _none_if_raised(adapter.leaf)(_data(dtype, shape), True)
    if leaf is None:
        return
    yield leaf
    result = next(_applied(adapter, adapter.ops, leaf, shape), None)
    made = list(islice(_applied(adapter, {*VIEWS} & {*adapter.ops}, leaf, shape), 1))
    if result is not None and Capability.IMPERATIVE in adapter.capabilities:
        _none_if_raised(_backward)(adapter, result, dtype)
    yield from [each for each in (result, *made) if each is not None]
    others = (_none_if_raised(adapter.leaf)(_data(dtype, other), True) for _, other in _tried(adapter))
    yield from (each for each in others if each is not None)


def _applied(adapter: Adapter, ops: Collection[str], leaf: Value, shape: Shape) -> Iterator[Value]:
    """Yields the results of those ops that accept operands of a shape and return one result."""
    for name, count, attrs in simplest(ops, shape):
        if not outside(adapter.limits, name, (shape,) * count, attrs):
            made = _none_if_raised(adapter.apply)(name, [leaf] * count, attrs)
            yield from made[:1] if isinstance(made, tuple | list) and len(made) == 1 else ()


def _backward(adapter: Adapter, result: Value, dtype: str) -> None:
    given = np.ones_like(adapter.read(result), dtype) if Capability.COTANGENTS in adapter.capabilities else None
    adapter.backward([result], [given], None)


def _raises(method: Callable[[Value], Any], value: Value, name: str) -> str | None:
    result = attempt(method, value)
    return cannot(name, result.error) if isinstance(result, Raised) else None


def _none_if_raised(method: Callable[..., Any]) -> Callable[..., Any]:
    """Make a method return None instead of raising; rules judge its errors, not the probe."""

    def quiet(*arguments: object) -> Any:
        result = attempt(method, *arguments)
        return None if isinstance(result, Raised) else result

    return quiet
