"""Exact derivatives of functions of one number, far from where their values are ordinary numbers.

Where a forward pass rounds to a constant, as that of the sigmoid at 40, its derivative is still a number, which a
stable formula gives. The reference differentiates as JAX does, and loses this number as well; mpmath does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

import mpmath
from mpmath import mpf

DIGITS = 60
"""Decimal digits with which derivatives are computed."""

Function = Callable[[mpf], mpf]


def _silu(x: mpf) -> mpf:
    return _sigmoid(x) * (1 + x * _sigmoid(-x))


def _sigmoid(x: mpf) -> mpf:
    return 1 / (1 + mpmath.exp(-x))


def _gelu(x: mpf) -> mpf:
    return mpmath.ncdf(x) + x * mpmath.npdf(x)


def _mish(x: mpf) -> mpf:
    soft = mpmath.log1p(mpmath.exp(x))
    return mpmath.tanh(soft) + x * mpmath.sech(soft) ** 2 * _sigmoid(x)


def _softsign(x: mpf) -> mpf:
    return 1 / (1 + abs(x)) ** 2


def _sinc(x: mpf) -> mpf:
    return mpmath.diff(mpmath.sincpi, x)


FIRST: Mapping[str, Function] = {
    "reciprocal": lambda x: -1 / x**2,
    "sqrt": lambda x: 1 / (2 * mpmath.sqrt(x)),
    "rsqrt": lambda x: -1 / (2 * x * mpmath.sqrt(x)),
    "exp": mpmath.exp,
    "exp2": lambda x: mpmath.log(2) * mpf(2) ** x,
    "expm1": mpmath.exp,
    "log": lambda x: 1 / x,
    "log2": lambda x: 1 / (x * mpmath.log(2)),
    "log10": lambda x: 1 / (x * mpmath.log(10)),
    "log1p": lambda x: 1 / (1 + x),
    "sigmoid": lambda x: _sigmoid(x) * _sigmoid(-x),
    "tan": lambda x: mpmath.sec(x) ** 2,
    "asin": lambda x: 1 / mpmath.sqrt((1 - x) * (1 + x)),
    "acos": lambda x: -1 / mpmath.sqrt((1 - x) * (1 + x)),
    "atan": lambda x: 1 / (1 + x**2),
    "sinh": mpmath.cosh,
    "cosh": mpmath.sinh,
    "tanh": lambda x: mpmath.sech(x) ** 2,
    "asinh": lambda x: 1 / mpmath.sqrt(1 + x**2),
    "acosh": lambda x: 1 / mpmath.sqrt((x - 1) * (x + 1)),
    "atanh": lambda x: 1 / ((1 - x) * (1 + x)),
    "sinc": _sinc,
    "erf": lambda x: 2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-(x**2)),
    "erfc": lambda x: -2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-(x**2)),
    "lgamma": mpmath.digamma,
    "digamma": lambda x: mpmath.psi(1, x),
    "entr": lambda x: -mpmath.log(x) - 1,
    "ndtr": mpmath.npdf,
    "erfcx": lambda x: 2 * x * mpmath.exp(x**2) * mpmath.erfc(x) - 2 / mpmath.sqrt(mpmath.pi),
    "i0": lambda x: mpmath.besseli(1, x),
    "i1": lambda x: (mpmath.besseli(0, x) + mpmath.besseli(2, x)) / 2,
    "gelu": _gelu,
    "silu": _silu,
    "mish": _mish,
    "logsigmoid": lambda x: _sigmoid(-x),
    "softsign": _softsign,
    "tanhshrink": lambda x: mpmath.tanh(x) ** 2,
}
"""The first derivative of each function, by its op, in a form that loses no digits."""


LARGEST = 1000.0
"""Largest absolute value at which derivatives are computed: some of these functions take long further out."""

DOMAINS: Mapping[str, tuple[float, float]] = {
    **dict.fromkeys(("sqrt", "rsqrt", "log", "log2", "log10", "lgamma", "digamma", "entr"), (0.0, LARGEST)),
    **dict.fromkeys(("asin", "acos", "atanh"), (-1.0, 1.0)),
    "acosh": (1.0, LARGEST), "log1p": (-1.0, LARGEST), "tan": (-1.5, 1.5), "sinc": (-0.9, 0.9),
}  # fmt: skip
"""The open interval of each function in which it is differentiable and not periodic; others have all numbers."""


@lru_cache(maxsize=4096)
def derivative(op: str, at: float, order: int = 1) -> float:
    """Returns the derivative of an order, 1 or more, at a number; NaN outside of the function's domain."""
    low, high = DOMAINS.get(op, (-LARGEST, LARGEST))
    if not low < at < high:
        return float("nan")
    with mpmath.workdps(DIGITS):
        try:
            found = FIRST[op](mpf(at)) if order == 1 else mpmath.diff(FIRST[op], mpf(at), order - 1)
        except (ValueError, ZeroDivisionError, OverflowError):
            return float("nan")
        return float(found) if isinstance(found, mpf) else float("nan")
