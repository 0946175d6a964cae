"""A part of HIPS autograd, as a framework that only has `grad` of functions with one result, and lacks some ops."""

from typing import Any

from autograd import grad as grad
from autograd import numpy as whole

__version__ = "2.5"

LACKS = ("tan", "cosh", "linalg")


def cumsum(x: Any, axis: int) -> Any:
    """Returns something wrong."""
    return whole.sum(x) + 0 * x


def sinh(x: Any) -> Any:
    """Fails, but not because something is missing."""
    raise ZeroDivisionError("sinh fails")


def roll(x: Any) -> Any:
    """Takes no shifts."""
    return x


def __getattr__(name: str) -> Any:
    if name in LACKS or name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return getattr(whole, name)
