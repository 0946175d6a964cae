"""Validates the return values of adapter methods; an error names the method and the expected value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NoReturn, cast

from autograd_conformance.frameworks.adapter import Adapter, Value
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.ops.catalogue import CUT
from autograd_conformance.programs.foreign import arrays
from autograd_conformance.programs.foreign.text import harmless, type_of
from autograd_conformance.programs.language import Apply, Grad, InPlace, Instruction
from autograd_conformance.programs.own_numpy import np

SHOWN = 80
"""Maximum number of characters of an invalid value in a message."""


class OtherCount(Exception):
    """An op cut its operand into more or fewer parts than it has to. The operand may have the wrong shape."""


def shown(value: object) -> str:
    """Returns the `repr` of a value, cut to `SHOWN` characters; a `repr` that raises is reported in its place."""
    try:
        text = repr(value)
    except BaseException as error:
        text = f"a {type(value).__name__} whose repr() raises {type_of(error)}"
    text = harmless(text)
    return text if len(text) <= SHOWN else text[:SHOWN] + " ..."


def refuse(adapter: Adapter, what: str, got: object, wanted: str) -> NoReturn:
    """Raise the error that a method returned an invalid value."""
    raise AdapterError(f"{adapter.name}: {what} gave {shown(got)}, not {wanted}")


def _kind(got: object) -> str:
    """Returns a value as text: an array by its dtype, an array of a subclass by its class, any other object by its
    `repr`.
    """
    if type(got) is np.ndarray:
        return f"an array of {got.dtype}"
    return f"a {type(got).__name__}" if isinstance(got, np.ndarray) else shown(got)


def call_of(step: Instruction) -> str:
    """Returns the adapter call that an instruction makes, with the name of its op: ``apply('sin')``."""
    match step:
        case Apply(op):
            return f"apply({op!r})"
        case InPlace(op):
            return f"write({op!r})"
        case _:
            return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(step).__name__).lower() + "()"


def results(adapter: Adapter, step: Instruction, made: Any, count: int) -> Sequence[Value | None]:
    """Validate and return the results of `apply` or `grad`, which have to be a tuple or list of `count` values. Raises
    `OtherCount` if the number of results depends on the operand.
    """
    optional = isinstance(step, Grad)
    if not isinstance(made, (tuple, list)):
        each = "gradients, one for each input" if optional else "all results"
        refuse(adapter, call_of(step), made, f"a tuple or a list of {each}")
    if len(made) != count:
        number = "1 result" if len(made) == 1 else f"{len(made)} results"
        what = f"{call_of(step)} gave {number}, not {count}"
        if made and isinstance(step, Apply) and step.op in CUT:
            raise OtherCount(what)
        raise AdapterError(f"{adapter.name}: {what}")
    if not optional and any(value is None for value in made):
        refuse(adapter, call_of(step), made, "a tensor in each place")
    return made


def array(adapter: Adapter, got: object, name: str) -> np.ndarray:
    """Validate the result of `read`, a plain array or a NumPy scalar with the dtype that `dtype` returned, and return
    it as an array.
    """
    try:
        return arrays.numbers(got, name)
    except arrays.InvalidArray as error:
        raise AdapterError(f"{adapter.name}: read() gave {_kind(got)}, not {error}") from None
    except arrays.InvalidDtype as error:
        raise AdapterError(f"{adapter.name}: dtype() gave what it may not: {error}") from None


def check_copy(adapter: Adapter, value: Value, what: str) -> None:
    """Raise `AdapterError` if `read` returns the tensor's own memory, which later instructions may change.

    Read-only arrays are accepted, because frameworks return them for values that never change.
    """
    name = text(adapter, "dtype", adapter.dtype(value))
    one, other = (array(adapter, adapter.read(value), name) for _ in range(2))
    if one.flags.writeable and np.may_share_memory(one, other):
        raise AdapterError(f"{adapter.name}: read() of {what} gave the same memory twice; it has to give a copy")


def text(adapter: Adapter, method: str, got: object) -> str:
    """Return what a method of an adapter returned if it is a string; raises `AdapterError` otherwise."""
    return got if isinstance(got, str) else refuse(adapter, f"{method}()", got, "a str")


def truth(adapter: Adapter, method: str, got: object) -> bool | None:
    """Return what a method of an adapter returned if it is a bool or None; raises `AdapterError` otherwise."""
    if got is None or isinstance(got, (bool, np.bool_)):
        return None if got is None else bool(got)
    refuse(adapter, f"{method}()", got, "a bool or None")


def number(adapter: Adapter, method: str, got: object) -> int | None:
    """Return what a method of an adapter returned if it is an int or None; raises `AdapterError` otherwise."""
    if got is None or is_whole(got):
        return cast(int | None, got)
    refuse(adapter, f"{method}()", got, "an int or None")


def numbers(adapter: Adapter, method: str, got: object) -> tuple[int, ...] | None:
    """Return what a method of an adapter returned, as a tuple, if it is a sequence of ints or None; raises
    `AdapterError` otherwise.
    """
    if got is None:
        return None
    if isinstance(got, (tuple, list)) and all(map(is_whole, got)):
        return tuple(got)
    refuse(adapter, f"{method}()", got, "a tuple of int")


def is_whole(got: object) -> bool:
    """Whether a value is an integer. A bool is not, although Python counts it as one."""
    return isinstance(got, (int, np.integer)) and not isinstance(got, bool)
