"""What an adapter's methods have to give, and the error that names the method where one gives something else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NoReturn, cast

from autograd_conformance.frameworks.adapter import Adapter, Value
from autograd_conformance.frameworks.registry import AdapterError
from autograd_conformance.programs.foreign import arrays
from autograd_conformance.programs.foreign.text import harmless, type_of
from autograd_conformance.programs.language import Apply, Grad, InPlace, Instruction
from autograd_conformance.programs.own_numpy import np

SHOWN = 80
"""How many characters of a wrong answer are shown."""


def shown(value: object) -> str:
    """A value as an error shows it, cut to `SHOWN` characters; a value may not even have a text."""
    try:
        text = repr(value)
    except BaseException as error:
        text = f"a {type(value).__name__} whose repr() raises {type_of(error)}"
    text = harmless(text)
    return text if len(text) <= SHOWN else text[:SHOWN] + " ..."


def refuse(adapter: Adapter, what: str, got: object, wanted: str) -> NoReturn:
    """Say that a method gave what it may not give."""
    raise AdapterError(f"{adapter.name}: {what} gave {shown(got)}, not {wanted}")


def _kind(got: object) -> str:
    """Something in words: an array by its dtype, another object by its class, or as it is shown."""
    if type(got) is np.ndarray:
        return f"an array of {got.dtype}"
    return f"a {type(got).__name__}" if isinstance(got, np.ndarray) else shown(got)


def call_of(step: Instruction) -> str:
    """The call of an adapter's method that an instruction is, with its op."""
    match step:
        case Apply(op):
            return f"apply({op!r})"
        case InPlace(op):
            return f"write({op!r})"
        case _:
            return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(step).__name__).lower() + "()"


def results(adapter: Adapter, step: Instruction, made: Any, count: int) -> Sequence[Value | None]:
    """What `apply` or `grad` gave, if that is a tuple or a list of so many results."""
    optional = isinstance(step, Grad)
    if not isinstance(made, (tuple, list)):
        each = "gradients, one for each input" if optional else "all results"
        refuse(adapter, call_of(step), made, f"a tuple or a list of {each}")
    if len(made) != count:
        number = "1 result" if len(made) == 1 else f"{len(made)} results"
        raise AdapterError(f"{adapter.name}: {call_of(step)} gave {number}, not {count}")
    if not optional and any(value is None for value in made):
        refuse(adapter, call_of(step), made, "a tensor in each place")
    return made


def array(adapter: Adapter, got: object, name: str) -> np.ndarray:
    """What `read` gave, if that is a plain array, or one of NumPy's numbers, of the dtype that `dtype` named."""
    try:
        return arrays.numbers(got, name)
    except arrays.InvalidArray as error:
        raise AdapterError(f"{adapter.name}: read() gave {_kind(got)}, not {error}") from None
    except arrays.InvalidDtype as error:
        raise AdapterError(f"{adapter.name}: dtype() gave what it may not: {error}") from None


def check_copy(adapter: Adapter, value: Value, what: str) -> None:
    """Refuse a `read` that gives the memory of the value itself, which the next instruction may write to.

    What may not be written to is let pass: so frameworks show values that never change.
    """
    name = text(adapter, "dtype", adapter.dtype(value))
    one, other = (array(adapter, adapter.read(value), name) for _ in range(2))
    if one.flags.writeable and np.may_share_memory(one, other):
        raise AdapterError(f"{adapter.name}: read() of {what} gave the same memory twice; it has to give a copy")


def text(adapter: Adapter, method: str, got: object) -> str:
    """What a method gave, if that is a text."""
    return got if isinstance(got, str) else refuse(adapter, f"{method}()", got, "a str")


def truth(adapter: Adapter, method: str, got: object) -> bool | None:
    """What a method gave, if that is a bool or None."""
    if got is None or isinstance(got, (bool, np.bool_)):
        return None if got is None else bool(got)
    refuse(adapter, f"{method}()", got, "a bool or None")


def number(adapter: Adapter, method: str, got: object) -> int | None:
    """What a method gave, if that is a whole number or None."""
    if got is None or is_whole(got):
        return cast(int | None, got)
    refuse(adapter, f"{method}()", got, "an int or None")


def numbers(adapter: Adapter, method: str, got: object) -> tuple[int, ...] | None:
    """What a method gave, if that is a sequence of whole numbers or None."""
    if got is None:
        return None
    if isinstance(got, (tuple, list)) and all(map(is_whole, got)):
        return tuple(got)
    refuse(adapter, f"{method}()", got, "a tuple of int")


def is_whole(got: object) -> bool:
    """Whether something is a whole number; Python counts True as one."""
    return isinstance(got, (int, np.integer)) and not isinstance(got, bool)
