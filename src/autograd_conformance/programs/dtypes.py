"""The dtypes of programs, as one table: the name, the size, the precision and the range of each.

`ml_dtypes` gives NumPy the dtype bfloat16: `np.dtype("bfloat16")` exists as soon as this module was imported. A server
in an environment without it lacks that dtype.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from autograd_conformance.programs.own_numpy import np

with suppress(ImportError):
    import ml_dtypes  # noqa: F401

HUGE = 1e30
"""An array is not compared if its right elements reach this magnitude, in dtypes that have such numbers."""


@dataclass(frozen=True, slots=True)
class Dtype:
    """A floating-point dtype."""

    short: str
    """The name in a program's text, such as "f32"."""
    bits: int
    """The size of a number."""
    epsilon: float
    """The distance from 1 to the next larger number."""
    tiny: float
    """The smallest positive number with all digits."""
    smallest: float
    """The smallest positive number."""
    largest: float
    """The largest finite number."""

    @property
    def digits(self) -> float:
        """The number of decimal digits, not rounded."""
        return float(-np.log10(self.epsilon))

    @property
    def huge(self) -> float:
        """An array is not compared if its right elements reach this magnitude, because rounding may turn them into
        infinity.
        """
        return min(HUGE, self.largest / 4)

    def roundings(self, count: float) -> float:
        """Returns the largest relative error of so many roundings; in a dtype of few digits at most a sixteenth."""
        return min(count * self.epsilon, 1 / 16)


def _dtype(name: str, short: str) -> Dtype:
    info = np.finfo(name)
    limits = (info.eps, info.smallest_normal, info.smallest_subnormal, info.max)
    return Dtype(short, info.bits, *map(float, limits))


DTYPES = {
    **{name: _dtype(name, short) for name, short in (("float32", "f32"), ("float64", "f64"), ("float16", "f16"))},
    "bfloat16": Dtype("bf16", 16, 2.0**-7, 2.0**-126, 2.0**-133, (2 - 2.0**-7) * 2.0**127),
}
"""The dtypes in which programs compute, by name."""

USUAL = ("float32", "float64")
"""The dtypes of a run in which none is requested."""

COARSE = frozenset(("float16", "bfloat16"))
"""The dtypes with so few digits that errors of several ops in a row say nothing: each op is judged with the operands
that the framework itself computed.
"""

OF_OPERANDS = "operands"
"""The word in place of a dtype for an op that computes in the dtype of its operands wherever it is applied."""

BOTH = "both"
"""The word for the usual dtypes in a list of dtypes."""


def lowered(autocast: Mapping[str, str]) -> frozenset[str]:
    """Returns the ops that compute in a dtype of few digits under autocast, given the dtype in which each op does."""
    return frozenset(op for op, dtype in autocast.items() if dtype in COARSE)


def dtypes_in(text: str) -> tuple[str, ...]:
    """Returns the dtypes of a list with commas, such as "float32,bfloat16". Raises ValueError with the unknown word."""
    words = [word.strip() for word in text.split(",")]
    unknown = [word for word in words if word not in DTYPES and word != BOTH]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not one of {', '.join((*DTYPES, BOTH))}")
    return tuple(dict.fromkeys(name for word in words for name in (USUAL if word == BOTH else (word,))))


def usual(names: Iterable[str]) -> tuple[str, ...]:
    """Returns the usual ones of some dtypes, in their order."""
    return tuple(name for name in names if name in USUAL)


def widest(dtypes: Sequence[str]) -> str:
    """Returns the narrowest dtype that represents the numbers of all given dtypes."""
    found = max(dtypes, key=lambda name: DTYPES[name].bits)
    return "float32" if found in COARSE and len({*dtypes}) > 1 else found


def narrowest(dtypes: Sequence[str]) -> str:
    """Returns the one of the given dtypes that has the largest rounding errors."""
    return max(dtypes, key=lambda name: DTYPES[name].epsilon)
