"""Trials of functions: calls with floating-point numbers, which are differentiated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any, Protocol


class Outcome(IntEnum):
    """The finding about a function; of several calls, the highest counts."""

    RAISED = 0
    """No call returned arrays, or had a derivative."""
    NO_FLOATS = 1
    """Calls returned integers or booleans only."""
    ZERO = 2
    """Calls have a derivative, but it is zero."""
    DERIVATIVE = 3
    """A call has a derivative that is not zero."""


MATRICES: Mapping[str, Sequence[Sequence[float]]] = {
    "x": ((0.6, 0.2), (0.3, 0.7)), "y": ((0.5, 0.1), (0.4, 0.8)), "z": ((0.3, 0.4), (0.1, 0.9)),
}  # fmt: skip
VECTORS: Mapping[str, Sequence[float]] = {"v": (0.6, 0.3, 0.7), "w": (0.2, 0.9, 0.4)}
"""The operands of calls by name: numbers between zero and one, which are in the domain of most functions."""

CALLS = (
    "f(x)", "f(x, y)", "f(x, y, z)", "f(v)", "f(v, w)", "f([x, y])", "f(x, 1)", "f(x, 1, 0)",
)  # fmt: skip
"""The calls that are tried with every function, until one has a derivative."""


class Differentiate(Protocol):
    """A framework's way to call a function of operands, and its derivative."""

    def __call__(self, function: Callable[..., Any], operands: Sequence[Any]) -> Outcome: ...


def outcome(
    function: Callable[..., Any],
    calls: Sequence[str],
    operands: Mapping[str, Any],
    scope: Mapping[str, Any],
    differentiate: Differentiate,
) -> Outcome:
    """Call a function in each of some ways until it has a derivative, and return the best that was found."""
    best = Outcome.RAISED
    for code in calls:
        call = eval(f"lambda {', '.join(operands)}: {code}", {**scope, "f": function})
        try:
            best = max(best, differentiate(call, tuple(operands.values())))
        except Exception:  # Whatever a function raises for operands that do not suit it.
            continue
        if best is Outcome.DERIVATIVE:
            break
    return best
