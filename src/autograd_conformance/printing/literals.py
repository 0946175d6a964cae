"""Attributes as they are written into code: whatever a template or a function does with one, a literal comes out.

The vocabulary lets no text pass that is not a word of the op's row; this holds for whoever prints a program that nobody
validated.
"""

from __future__ import annotations

import math
from typing import Any

from autograd_conformance.programs.language import Attrs


class Text(str):
    """A text that compares and counts as it did, and is written in quotes."""

    __slots__ = ()

    def __str__(self) -> str:
        return repr(self)

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __add__(self, other: str) -> str:
        return repr(self) + other

    def __radd__(self, other: str) -> str:
        return other + repr(self)


class Unbounded(float):
    """An infinity or NaN, which has no literal and is written as a call."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"float('{float(self)!r}')"

    def __format__(self, spec: str) -> str:
        return repr(self)


def literal(value: object) -> Any:
    """A value of an attribute, which every way to format it writes as a literal; others raise TypeError."""
    match value:
        case tuple():
            return tuple(map(literal, value))
        case str():
            return Text(value)
        case float() if not math.isfinite(value):
            return Unbounded(value)
        case None | bool() | int() | float():
            return value
        case _:
            raise TypeError(f"{type(value).__name__} is no value of an attribute")


def as_literals(attrs: Attrs) -> dict[str, Any]:
    """Attributes by name, each as `literal` has it."""
    return {name: literal(value) for name, value in attrs}
