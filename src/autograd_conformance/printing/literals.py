"""Attribute values that format themselves as Python literals, in every template and function that writes code.

Validated programs contain only texts that the op's row in the table offers. This module protects callers that print a
program which nobody validated from executing an attribute as code.
"""

from __future__ import annotations

import math
from typing import Any

from autograd_conformance.programs.language import Attrs


class Text(str):
    """A string equal to the original, which is formatted as a quoted literal."""

    __slots__ = ()

    def __str__(self) -> str:
        return repr(self)

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __add__(self, other: str) -> str:
        return repr(self) + other

    def __radd__(self, other: str) -> str:
        return other + repr(self)


class NonFinite(float):
    """An infinity or NaN, which has no literal and is written as a call of `float`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"float('{float(self)!r}')"

    def __format__(self, spec: str) -> str:
        return repr(self)


def literal(value: object) -> Any:
    """An attribute's value in a form that is always written as a literal; raises TypeError for other types."""
    match value:
        case tuple():
            return tuple(map(literal, value))
        case str():
            return Text(value)
        case float() if not math.isfinite(value):
            return NonFinite(value)
        case None | bool() | int() | float():
            return value
        case _:
            raise TypeError(f"{type(value).__name__} is not a value that an attribute may have")


def as_literals(attrs: Attrs) -> dict[str, Any]:
    """Attributes by name, each converted by `literal`."""
    return {name: literal(value) for name, value in attrs}
