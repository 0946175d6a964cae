"""The reasons why a program cannot be drawn for a framework."""

from __future__ import annotations

from hypothesis.errors import UnsatisfiedAssumption


class Unsupported(Exception):
    """Raised if no program of this kind can be drawn for the framework. The message names the missing feature."""


class UnsupportedOp(Unsupported):
    """Raised if this draw needs an op that the framework does not have; other draws may not need it."""

    def __init__(self, message: str, *, is_missing: bool) -> None:
        super().__init__(message)
        self.is_missing = is_missing
        """Whether the framework claims none of the ops that would do; False if one of them breaks a rule."""


class UnsupportedShape(Unsupported, UnsatisfiedAssumption):
    """Raised if this draw needs a shape, or an op on a shape, that the framework does not have. Hypothesis rejects the
    draw and tries another one.
    """
