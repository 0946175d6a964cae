"""The probe: what a framework has is found by trying, once, after the smoke test and before any program is drawn.

Values of every dtype and form are made and looked at. What reads back otherwise than it was written is not there, and
is never drawn. What cannot be looked at is a capability that is missing, whatever was claimed. Each is said once, in
the report's header. An adapter that insists on something has it judged as if it were there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

from autograd_conformance.frameworks.adapter import Adapter, FullAdapter, Value
from autograd_conformance.frameworks.calls import Raised, attempt
from autograd_conformance.frameworks.reading.reader import cannot
from autograd_conformance.frameworks.registry import AdapterError
from autograd_conformance.ops.limits import Limits, outside
from autograd_conformance.ops.rows.shapes import FORMS, size
from autograd_conformance.ops.simplest import simplest
from autograd_conformance.programs.capabilities import PYTORCH, Capability, Traits
from autograd_conformance.programs.foreign.text import message, type_of
from autograd_conformance.programs.language import Shape
from autograd_conformance.programs.own_numpy import np

ERRORS = "errors"
"""What an adapter insists on that knows every error of its framework: one that it does not know is no refusal."""
METHOD_OF: dict[Capability, str] = {
    Capability.REQUIRES_GRAD: "requires_grad",
    Capability.IDENTITY: "identity",
    Capability.MEMORY: "memory",
    Capability.LAYOUT: "strides",
}
"""The method by which what a capability is about is looked at."""
VIEWS = ("reshape", "expand_dims", "flatten", "slice")
"""Ops that make views where there are any."""


@dataclass(frozen=True)
class ProbeResult:
    """What was found by trying."""

    missing: frozenset[Capability] = frozenset()
    """The capabilities that are claimed and were not found."""
    dtypes: frozenset[str] = frozenset()
    """The dtypes that leaves do not keep."""
    forms: frozenset[str] = frozenset()
    """The forms of leaves, by `ops.rows.shapes.form`, that do not read back as they were written."""
    notes: tuple[str, ...] = ()
    """What is not there, and how that was found, a line each."""

    def capabilities(self, adapter: Adapter) -> frozenset[Capability]:
        """What an adapter claims, less what was not found; that it knows every error it says in another place."""
        knows = frozenset({Capability.KNOWS_ERRORS} if ERRORS in insisted(adapter) else ())
        return (frozenset(adapter.capabilities) - {Capability.KNOWS_ERRORS} - self.missing) | knows


NOTHING_MISSING = ProbeResult()


def insisted(adapter: Adapter) -> frozenset[str]:
    """What an adapter insists on."""
    return frozenset(getattr(adapter, "insists", ()))


def probe(adapter: Adapter) -> ProbeResult:
    """What an adapter that passed the smoke test lacks of what it names; `AdapterError` where nothing is left."""
    full, insists = cast(FullAdapter, adapter), insisted(adapter)
    dtypes = {d: why for d in adapter.dtypes if d not in insists and (why := _changed(full, d, _usual(adapter)))}
    usable = [d for d in adapter.dtypes if d not in dtypes]
    if not usable:
        raise AdapterError(f"{adapter.name}: {next(iter(dtypes.values()))}; no dtype is left to test")
    forms = {
        name: why
        for name, shape in _tried(adapter)
        if name not in insists and (why := _changed(full, usable[0], shape))
    }
    if {"numbers", "vectors"} <= {*forms}:
        raise AdapterError(f"{adapter.name}: {forms['vectors']}; neither is a number")
    looks = dict(_unreadable(full, usable[0], _usual(adapter)))
    notes = (
        *(f"{why}: programs in {name} are not drawn" for name, why in dtypes.items()),
        *(f"{why}: leaves that are {name} are not drawn" for name, why in forms.items()),
        *(f"{METHOD_OF[each]} cannot be read ({why}): rules on it are not applicable" for each, why in looks.items()),
    )
    return ProbeResult(
        frozenset(looks), frozenset(dtypes), frozenset(forms), tuple(f"{adapter.name}: {n}" for n in notes)
    )


def _usual(adapter: Adapter) -> Shape:
    traits: Traits = getattr(adapter, "traits", PYTORCH)
    return () if traits.scalars else (2,)


def _tried(adapter: Adapter) -> Iterator[tuple[str, Shape]]:
    """The forms of leaves that the framework may have, each with a shape."""
    return ((name, shape) for name, shape in FORMS.items() if _usual(adapter) or shape == ())


def _data(dtype: str, shape: Shape) -> np.ndarray:
    return (np.arange(size(shape), dtype=dtype) + np.asarray(1, dtype)).reshape(shape)


def _changed(adapter: FullAdapter, dtype: str, shape: Shape) -> str | None:
    """How a leaf does not read back as it was written, in words; None where it does."""
    data, what = _data(dtype, shape), f"a {dtype} leaf of shape {shape}"
    match attempt(_written, adapter, data.copy()):
        case Raised(error):
            return f"{what} cannot be made and read ({type_of(error)}: {message(error)})"
        case (back, named):
            pass
    if isinstance(back, np.ndarray | np.generic) and back.shape != shape:
        return f"{what} reads back with shape {back.shape}"
    return f"{what} reads back as {named}" if isinstance(named, str) and named != dtype else None


def _written(adapter: FullAdapter, data: np.ndarray) -> tuple[object, object]:
    """What a leaf of some data reads back as: elements and dtype."""
    adapter.reset()
    leaf = adapter.leaf(data, True)
    return adapter.read(leaf), adapter.dtype(leaf)


def _unreadable(adapter: FullAdapter, dtype: str, shape: Shape) -> Iterator[tuple[Capability, str]]:
    """The looks that are claimed and raise, each with how."""
    values = list(_values(adapter, dtype, shape))
    gradients = [each for each in map(_none_if_raised(adapter.gradient), values[:1]) if each is not None]
    flagged = gradients if Capability.CREATE_GRAPH in adapter.capabilities else []  # others are not asked for a flag
    there = {Capability.IDENTITY: gradients, Capability.REQUIRES_GRAD: [*values, *flagged]}
    for capability, name in METHOD_OF.items():
        if capability in adapter.capabilities:
            looked_at = there.get(capability, [*values, *gradients])
            why = next(filter(None, (_raises(getattr(adapter, name), each, name) for each in looked_at)), None)
            if why:
                yield capability, why


def _values(adapter: FullAdapter, dtype: str, shape: Shape) -> Iterator[Value]:
    """A leaf, a result, a view, and leaves of other forms, as far as they can be made; the first has a gradient."""
    adapter.reset()
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


def _applied(adapter: FullAdapter, ops: Collection[str], leaf: Value, shape: Shape) -> Iterator[Value]:
    """The results of those of some ops that take operands of that shape and give one."""
    limits: Limits = getattr(adapter, "limits", {})
    for name, count, attrs in simplest(ops, shape):
        if not outside(limits, name, (shape,) * count, attrs):
            made = _none_if_raised(adapter.apply)(name, [leaf] * count, attrs)
            yield from made[:1] if isinstance(made, tuple | list) and len(made) == 1 else ()


def _backward(adapter: FullAdapter, result: Value, dtype: str) -> None:
    given = np.ones_like(adapter.read(result), dtype) if Capability.COTANGENTS in adapter.capabilities else None
    adapter.backward([result], [given], None)


def _raises(method: Callable[[Value], Any], value: Value, name: str) -> str | None:
    result = attempt(method, value)
    return cannot(name, result.error) if isinstance(result, Raised) else None


def _none_if_raised(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that gives None where it raises: what it does is for rules to judge, not for the probe."""

    def quiet(*arguments: object) -> Any:
        result = attempt(method, *arguments)
        return None if isinstance(result, Raised) else result

    return quiet
