"""The reasons why a program cannot be drawn for a framework."""

from __future__ import annotations

from hypothesis.errors import UnsatisfiedAssumption


class Unsupported(Exception):
    """No program of this kind can be drawn for the framework. The message names the missing feature."""


class UnsupportedOp(Unsupported):
    """This draw needs an op that the framework does not have; other draws may not need it."""


class UnsupportedShape(Unsupported, UnsatisfiedAssumption):
    """This draw needs a shape or form that the framework does not have. Hypothesis rejects the draw and tries another
    one.
    """
