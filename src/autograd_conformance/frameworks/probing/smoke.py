"""The smoke test: judges the adapter, not the framework, before any verdict is given.

It requires nothing that a rule tests: only that the adapter speaks the language of `frameworks.adapter` with
something that can make a tensor and apply an op at all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograd_conformance.frameworks.adapter import Adapter
from autograd_conformance.frameworks.calls import call_adapter
from autograd_conformance.frameworks.environment.interrupts import is_users
from autograd_conformance.frameworks.probing import declarations
from autograd_conformance.frameworks.reading import validation
from autograd_conformance.frameworks.registry import AdapterError
from autograd_conformance.frameworks.requirements import unmet_requirements
from autograd_conformance.ops.catalogue import APPLIED, WRITES
from autograd_conformance.ops.limits import Limits, outside
from autograd_conformance.ops.rows.shapes import size
from autograd_conformance.ops.simplest import simplest
from autograd_conformance.programs.capabilities import PYTORCH, Traits
from autograd_conformance.programs.language import DTYPES, Apply, Ref, Shape
from autograd_conformance.programs.observations import Kind
from autograd_conformance.programs.own_numpy import np

VECTOR: Shape = (2,)


def smoke(adapter: Adapter) -> None:
    """Raise `AdapterError` with the reason where the adapter does not do what an adapter has to."""
    declarations.check(adapter)
    _declarations(adapter)
    traits: Traits = getattr(adapter, "traits", PYTORCH)
    shape: Shape = () if traits.scalars else VECTOR
    changed: dict[str, object] = {}
    for dtype in adapter.dtypes:
        data = np.array([1.0, 2.0], dtype=dtype).reshape(2)[: size(shape)].reshape(shape)
        _try(adapter, "reset()", adapter.reset)
        leaf = _leaf(adapter, data)
        back = _try(adapter, "read()", adapter.read, leaf)
        if not isinstance(back, np.ndarray) or back.shape != shape or not np.array_equal(back, data):
            validation.refuse(adapter, "read(leaf([1, 2]))", back, f"{data!r}, which went in")
        _try(adapter, "read()", validation.check_copy, adapter, leaf, "a leaf")
        named = _try(adapter, "dtype()", adapter.dtype, leaf)
        if named != dtype:  # where another dtype stays what it is, this one is not there: the probe says so
            changed[dtype] = named
            if dtype in getattr(adapter, "insists", ()) or len(changed) == len(adapter.dtypes) or named not in DTYPES:
                validation.refuse(adapter, f"dtype() of a {dtype} leaf", named, repr(dtype))
            continue
        _fresh(adapter, leaf, shape, traits)
        _apply(adapter, leaf, shape)
    kind = _try(adapter, "classify()", adapter.classify, RuntimeError("no such thing"))
    if kind is not Kind.UNKNOWN:
        validation.refuse(adapter, "classify() of an exception that it cannot know", kind, "Kind.UNKNOWN")


def _apply(adapter: Adapter, leaf: Any, shape: Shape) -> None:
    """Hold the simplest op to give values; where the device has no kernel of it, the next one."""
    absent: AdapterError | None = None
    limits: Limits = getattr(adapter, "limits", {})
    for name, operands, attrs in simplest(adapter.ops, shape):
        if outside(limits, name, (shape,) * operands, attrs):
            continue
        try:
            out = _try(adapter, f"apply({name!r})", adapter.apply, name, [leaf] * operands, attrs)
        except AdapterError as error:
            cause = error.__cause__
            if cause is None or adapter.classify(cause) is not Kind.NO_KERNEL:
                raise
            absent = absent or error
            continue
        validation.results(adapter, Apply(name, (Ref(0),) * operands, attrs), out, 1)
        return
    if absent is not None:
        raise absent


def _leaf(adapter: Adapter, data: np.ndarray) -> Any:
    """A leaf; where only single numbers can be made one, the error says how to say so."""
    try:
        return _try(adapter, "leaf()", adapter.leaf, data, True)
    except AdapterError as error:
        if not data.shape:
            raise
        try:
            adapter.leaf(data[0].reshape(()), True)
        except BaseException as other:
            if is_users(other):
                raise
            raise error from None
        remedy = "an adapter whose values are single numbers says so: traits = Traits(scalars=True)"
        raise AdapterError(f"{error}; of a single number it makes one: {remedy}") from None


def _fresh(adapter: Adapter, leaf: Any, shape: Shape, traits: Traits) -> None:
    """Hold a leaf to what it holds before any backward call: none, or zeros where the framework begins with them."""
    gradient = _try(adapter, "gradient()", adapter.gradient, leaf)
    if gradient is None:
        if traits.begins_with_zeros:
            raise AdapterError(
                f"{adapter.name}: gradient() of a fresh leaf is None, though traits say begins_with_zeros"
            )
        return
    named = validation.text(adapter, "dtype", _try(adapter, "dtype()", adapter.dtype, gradient))
    held = validation.array(adapter, _try(adapter, "read()", adapter.read, gradient), named)
    if held.shape != shape or held.any():
        validation.refuse(adapter, "gradient() of a fresh leaf", held, "None, or zeros of the leaf's shape")
    if not traits.begins_with_zeros:
        remedy = "an adapter whose framework begins with them says so: traits = Traits(begins_with_zeros=True)"
        raise AdapterError(f"{adapter.name}: gradient() of a fresh leaf is not None, but zeros; {remedy}")


def _declarations(adapter: Adapter) -> None:
    wrong = [d for d in adapter.dtypes if d not in DTYPES]
    if wrong or not adapter.dtypes:
        raise AdapterError(
            f"{adapter.name}: dtypes has to name some of {', '.join(DTYPES)}, not {list(adapter.dtypes)}"
        )
    absent = unmet_requirements(adapter)
    if absent:
        raise AdapterError(f"{adapter.name}: the adapter lacks {'; '.join(absent)} (see frameworks/adapter.py)")
    unknown = sorted(set(adapter.ops) - APPLIED)
    if unknown or not adapter.ops:
        names = ", ".join(unknown[:5]) if unknown else "no op"
        raise AdapterError(f"{adapter.name}: ops names {names}; it has to name ops of ops/tables")
    unknown = sorted({*getattr(adapter, "writes", ())} - {*WRITES})
    if unknown:
        raise AdapterError(f"{adapter.name}: writes names {', '.join(unknown[:5])}; it has to name rows of ops/inplace")
    unknown = sorted({*getattr(adapter, "limits", {})} - {*APPLIED, *WRITES})
    if unknown:
        raise AdapterError(f"{adapter.name}: limits names {', '.join(unknown[:5])}; it has to name ops and writes")
    silent = [] if adapter.dialect is None else sorted(set(adapter.ops) - set(adapter.dialect.ops))
    if silent:
        raise AdapterError(f"{adapter.name}: the dialect has no code for {', '.join(silent[:5])}")


def _try(adapter: Adapter, what: str, call: Callable[..., Any], *arguments: object) -> Any:
    """What a call gives; `AdapterError`, which says `what` was called, where it raises."""
    return call_adapter(adapter.name, what, call, *arguments)
