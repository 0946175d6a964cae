"""The smoke test: checks the adapter, not the framework, before the first program.

It checks only that the adapter implements the interface of `frameworks.adapter`, can make a tensor and can apply an op.
Rules test everything else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograd_conformance.frameworks.adapter import Adapter
from autograd_conformance.frameworks.blame.raised import raised_outcome
from autograd_conformance.frameworks.calls import call_adapter
from autograd_conformance.frameworks.environment.interrupts import is_users
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.frameworks.loading.requirements import unmet_requirements
from autograd_conformance.frameworks.probing import declarations
from autograd_conformance.frameworks.reading import validation
from autograd_conformance.ops.catalogue import APPLIED, WRITES
from autograd_conformance.ops.limits import outside
from autograd_conformance.ops.rows.shapes import size
from autograd_conformance.ops.simplest import simplest
from autograd_conformance.programs.dtypes import DTYPES
from autograd_conformance.programs.language import Apply, Ref, Shape
from autograd_conformance.programs.observations import Kind
from autograd_conformance.programs.own_numpy import np

VECTOR: Shape = (2,)


def smoke(adapter: Adapter) -> None:
    """Run the smoke test. Raises `AdapterError` with the reason if it fails."""
    declarations.check(adapter)
    _declarations(adapter)
    shape: Shape = () if adapter.traits.scalars else VECTOR
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
        if named != dtype:  # if another dtype is kept, the probe reports that this one is missing
            changed[dtype] = named
            if dtype in adapter.insists or len(changed) == len(adapter.dtypes) or named not in DTYPES:
                validation.refuse(adapter, f"dtype() of a {dtype} leaf", named, repr(dtype))
            continue
        _fresh(adapter, leaf, shape)
        _apply(adapter, leaf, shape)
    kind = _try(adapter, "classify()", adapter.classify, RuntimeError("no such thing"))
    if kind is not Kind.UNKNOWN:
        validation.refuse(adapter, "classify() of an exception that it cannot know", kind, "Kind.UNKNOWN")


def _apply(adapter: Adapter, leaf: Any, shape: Shape) -> None:
    """Check that the simplest op returns a result. If the device has no kernel for it, or the framework fails, try the
    next op.
    """
    absent: AdapterError | None = None
    for name, operands, attrs in simplest(adapter.ops, shape):
        if outside(adapter.limits, name, (shape,) * operands, attrs):
            continue
        step = Apply(name, (Ref(0),) * operands, attrs)
        try:
            out = _try(adapter, f"apply({name!r})", adapter.apply, name, [leaf] * operands, attrs)
        except AdapterError as error:
            if error.__cause__ is None:
                raise
            raised_outcome(adapter, step, error.__cause__, [leaf])  # raises if the adapter's code failed
            absent = absent or error
            continue
        validation.results(adapter, step, out, 1)
        return
    if absent is not None:
        raise absent


def _leaf(adapter: Adapter, data: np.ndarray) -> Any:
    """Make a leaf. If the adapter can make only leaves of one number, the error explains how to declare that."""
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
        remedy = "if its values are single numbers, declare traits = Traits(scalars=True)"
        raise AdapterError(f"{error}; a leaf of a single number works; {remedy}") from None


def _fresh(adapter: Adapter, leaf: Any, shape: Shape) -> None:
    """Check the gradient of a leaf before any backward call: None, or zeros if the traits say `begins_with_zeros`."""
    gradient = _try(adapter, "gradient()", adapter.gradient, leaf)
    if gradient is None:
        if adapter.traits.begins_with_zeros:
            raise AdapterError(
                f"{adapter.name}: gradient() of a fresh leaf is None, though traits say begins_with_zeros"
            )
        return
    try:
        named = validation.text(adapter, "dtype", _try(adapter, "dtype()", adapter.dtype, gradient))
        array = validation.array(adapter, _try(adapter, "read()", adapter.read, gradient), named)
    except AdapterError as error:
        remedy = "gradient() has to return None there if the framework has a placeholder before the first call"
        raise AdapterError(f"{error}; it is the gradient of a fresh leaf, {gradient!r}: {remedy}") from error
    if array.shape != shape or array.any():
        validation.refuse(
            adapter, "gradient() of a fresh leaf", array, "None (also for a placeholder), or zeros of its shape"
        )
    if not adapter.traits.begins_with_zeros:
        remedy = "if its framework begins with zeros, declare traits = Traits(begins_with_zeros=True)"
        raise AdapterError(f"{adapter.name}: gradient() of a fresh leaf is not None, but zeros; {remedy}")


def _declarations(adapter: Adapter) -> None:
    invalid = [d for d in adapter.dtypes if d not in DTYPES]
    if invalid or not adapter.dtypes:
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
    unknown = sorted({*adapter.writes} - {*WRITES})
    if unknown:
        raise AdapterError(f"{adapter.name}: writes names {', '.join(unknown[:5])}; it has to name rows of ops/inplace")
    unknown = sorted({*adapter.limits} - {*APPLIED, *WRITES})
    if unknown:
        raise AdapterError(f"{adapter.name}: limits names {', '.join(unknown[:5])}; it has to name ops and writes")
    silent = [] if adapter.dialect is None else sorted(set(adapter.ops) - set(adapter.dialect.ops))
    if silent:
        raise AdapterError(f"{adapter.name}: the dialect has no code for {', '.join(silent[:5])}")


def _try(adapter: Adapter, what: str, call: Callable[..., Any], *arguments: object) -> Any:
    """Call a method of the adapter; raises `AdapterError`, with `what` as the name of the call, if it raises."""
    return call_adapter(adapter.name, what, call, *arguments)
