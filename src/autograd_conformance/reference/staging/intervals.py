"""Interval arithmetic: translates a jaxpr to a function that computes, for each result, two numbers that enclose it for
any rounding.

Every operation of a framework is assumed to round its result and its terms by a few units in the last place; the few
leave room for another order of the same terms. Rounding preserves signs, and zero times anything is exact. Numbers too
small for the dtype may be flushed to zero, numbers too large are infinite, and results that may be NaN are unbounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from autograd_conformance.programs.dtypes import DTYPES
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.staging.numpy_source import named
from autograd_conformance.reference.staging.primitives import PRIMITIVES
from autograd_conformance.reference.staging.source import Source

if TYPE_CHECKING:
    import jax.extend.core as jax_core
else:
    from autograd_conformance.reference.staging.lazy_modules import jax_core

Array = np.ndarray

UNITS = 4.0
"""Number of units in the last place of its terms that an operation may lose."""

_INLINED = ("jit", "pjit")
_EXACT = {
    "broadcast_in_dim", "reshape", "squeeze", "expand_dims", "copy", "copy_p", "convert_element_type", "select_n",
    "max", "min", "stop_gradient",
}  # fmt: skip
"""JAX primitives that do not round, and are monotone in each operand that is not a condition."""


class Interval(NamedTuple):
    """All numbers from `low` to `high`, for each element."""

    low: Array
    high: Array

    @staticmethod
    def exact(value: Any) -> Interval:
        """Returns an interval with a single known number."""
        return Interval(np.asarray(value), np.asarray(value))

    @property
    def size(self) -> Array:
        """The largest magnitude in the interval, for each element."""
        return np.maximum(np.abs(self.low), np.abs(self.high))


def enclosures(staged: Callable[..., Any], arguments: Sequence[Interval], dtype: str) -> list[Interval]:
    """Computes the intervals that contain the results if a framework computes them in `dtype` from any numbers in
    `arguments`.

    `staged` is the function of a source made by `stage_enclosures`.
    """
    row = DTYPES[dtype]
    rounding = _Rounding(UNITS * row.epsilon, row.tiny, row.largest)
    with np.errstate(all="ignore"):
        return list(staged(_RULES, rounding, Interval, *arguments))


def stage_enclosures(closed: jax_core.ClosedJaxpr) -> Source:
    """Returns the source of a function that runs a jaxpr on intervals. The function's arguments are the rules, a
    rounding, the class of intervals and the jaxpr's arguments.

    Raises NotImplementedError with the name of a primitive that has no rule here.
    """
    return _Writer().write(closed)


class _Rounding(NamedTuple):
    unit: float
    tiny: float
    huge: float

    def outwards(self, low: Array, high: Array, terms: Array) -> Interval:
        """Returns the interval from `low` to `high`, widened by a rounding error that is relative to `terms`."""
        room = np.where((low == 0) & (high == 0) & (terms == 0), 0.0, self.unit * terms + self.tiny)
        below, above = low - room, high + room
        below, above = np.where((low >= 0) & (below < 0), 0.0, below), np.where((high <= 0) & (above > 0), 0.0, above)
        below, above = np.where(below < -self.huge, -np.inf, below), np.where(above > self.huge, np.inf, above)
        unknown = np.isnan(below) | np.isnan(above)
        return Interval(np.where(unknown, -np.inf, below), np.where(unknown, np.inf, above))


class _Writer:
    """Writes the source of one function on intervals, and assigns names to values and constants in the order of their
    use.
    """

    def __init__(self) -> None:
        self.constants: dict[str, Array] = {}
        self.lines: list[str] = []

    def write(self, closed: jax_core.ClosedJaxpr) -> Source:
        arguments = [f"x{k}" for k in range(len(closed.jaxpr.invars))]
        results = self._inline(closed, arguments)
        body = "".join(f"    {line}\n" for line in self.lines)
        head = f"def staged(rules, rounding, interval, {', '.join(arguments)}):\n"
        code = f"{head}{body}    return ({''.join(f'{result}, ' for result in results)})\n"
        every = frozenset(range(len(arguments)))
        return Source(code, self.constants, (every,) * len(results))

    def _made(self, code: str) -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {code}")
        return name

    def _constant(self, value: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(value)
        return self._made(f"interval.exact({name})")

    def _inline(self, closed: jax_core.ClosedJaxpr, arguments: Sequence[str]) -> list[str]:
        return named(closed, arguments, self._constant, self._equation)

    def _equation(self, eqn: Any, operands: list[str]) -> list[str]:
        name = eqn.primitive.name
        if name in _INLINED:
            return self._inline(eqn.params["jaxpr"], operands)
        return [self._made(_expression(name, eqn, operands))]


def _expression(name: str, eqn: Any, operands: Sequence[str]) -> str:
    if name in _EXACT or eqn.outvars[0].aval.dtype.kind != "f":  # integers and booleans are not rounded
        low, high = (PRIMITIVES[name]([f"{x}.{end}" for x in operands], eqn.params, eqn) for end in Interval._fields)
        return f"interval(np.asarray({low}), np.asarray({high}))"
    if name == "integer_pow":
        name = {1: "copy", 2: "square"}.get(eqn.params["y"], name)
    if name not in _RULES:
        raise NotImplementedError(f"no rule for how {eqn.primitive.name} rounds")
    return f"rules[{name!r}](rounding, {', '.join(operands)})"


def _corners(function: Callable[[Array, Array], Array], x: Interval, y: Interval) -> tuple[Array, Array]:
    """Returns the least and the greatest result of a function at the ends of two intervals; the function must be
    monotone in both arguments.
    """
    found = [function(a, b) for a in x for b in y]
    return np.minimum.reduce(found), np.maximum.reduce(found)


def _add(rounding: _Rounding, x: Interval, y: Interval) -> Interval:
    return rounding.outwards(x.low + y.low, x.high + y.high, x.size + y.size)


def _negative(rounding: _Rounding, x: Interval) -> Interval:
    return Interval(-x.high, -x.low)


def _subtract(rounding: _Rounding, x: Interval, y: Interval) -> Interval:
    return _add(rounding, x, _negative(rounding, y))


def _multiply(rounding: _Rounding, x: Interval, y: Interval) -> Interval:
    low, high = _corners(np.multiply, x, y)
    return rounding.outwards(low, high, np.maximum(np.abs(low), np.abs(high)))


def _divide(rounding: _Rounding, x: Interval, y: Interval) -> Interval:
    low, high = _corners(np.divide, x, y)
    crosses = (y.low <= 0) & (y.high >= 0)
    low, high = np.where(crosses, np.nan, low), np.where(crosses, np.nan, high)
    return rounding.outwards(low, high, np.maximum(np.abs(low), np.abs(high)))


def _power(rounding: _Rounding, x: Interval, y: Interval) -> Interval:
    """Encloses a non-negative base to a known power. The rounding error of the base counts once per multiplication."""
    low, high = _corners(np.power, x, y)
    return rounding.outwards(low, high, (1 + y.size) * np.maximum(np.abs(low), np.abs(high)))


def _square(rounding: _Rounding, x: Interval) -> Interval:
    low, high = _corners(np.multiply, x, x)
    return rounding.outwards(np.maximum(low, 0.0), high, high)


def _root(rounding: _Rounding, x: Interval) -> Interval:
    low, high = np.sqrt(x.low), np.sqrt(x.high)  # NaN where rounding may have made it negative
    return rounding.outwards(low, high, high)


_RULES: dict[str, Callable[..., Interval]] = {
    "add": _add, "add_any": _add, "sub": _subtract, "neg": _negative, "mul": _multiply, "div": _divide, "pow": _power,
    "square": _square, "sqrt": _root, "copy": lambda rounding, x: x,
}  # fmt: skip
