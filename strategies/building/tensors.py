"""Makes tensors from bytes: one draw per tensor, which shrinks towards 1, 2, 3; zeros and repeated values occur.

Most tensors contain multiples of 1/8, which short sums and products keep exact and which are easy to read. The sum of
the bytes selects the others: tensors with full mantissas, which a shorter format would round, with several zeros, or
with large values.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice

from autograd_conformance.ops.rows.domains import ANY, Domain
from autograd_conformance.ops.rows.shapes import size
from autograd_conformance.programs.language import Literal, Shape
from autograd_conformance.programs.own_numpy import np


def _plain() -> np.ndarray:
    """Returns 256 multiples of 1/8 between -4 and 4: integers first, then halves, then the rest; every 16th is zero."""
    grid = [n / 8 for n in range(-32, 33) if n]
    grid.sort(key=lambda x: (x % 1 != 0, x % 0.5 != 0, x < 0, abs(x)))
    values = [grid[n % len(grid)] for n in range(256)]
    values[5::16] = [0.0] * len(values[5::16])
    return np.array(values)


VALUES = _plain()
"""The number for each byte of a drawn tensor, offset by the element's index: the simplest tensor is 1, 2, 3, 4."""


FULL = 1.0 + 2.0**0.5 / 64
"""Factor that gives a number a full mantissa and hardly changes its size."""

LARGE = 20.0
"""Factor of large tensors: their values are up to 80, about the limit of `exp` in single precision."""

STYLES = 16
"""Number of classes into which tensors are divided by the sum of their bytes; some classes have full mantissas, zeros
or large values.
"""


def _styled(values: np.ndarray, style: int, domain: Domain) -> np.ndarray:
    """Returns the values, changed for some styles: to full mantissas, with several zeros, or to large ones."""
    match style:
        case 10 | 11 | 12 | 13:
            return domain.fit(values * FULL)
        case 14:
            return domain.fit(np.where(np.arange(values.size).reshape(values.shape) % 3, values, 0.0))
        case 15 if domain.holds(values * LARGE):
            return values * LARGE
        case _:
            return domain.fit(values)


def repeated(numbers: Sequence[float], shape: Shape, dtype: str) -> Literal:
    """Returns a tensor of some numbers in turn, each rounded to its dtype."""
    rounded = np.asarray(numbers, dtype).tolist()
    return Literal(tuple(islice(cycle(rounded), size(shape))), shape, dtype)


def literal(data: bytes, shape: Shape, dtype: str, domain: Domain = ANY) -> Literal:
    """Makes a tensor from bytes, with values inside a domain that are exactly representable in its dtype."""
    drawn = np.frombuffer(data, np.uint8)
    values = VALUES[(drawn + np.arange(len(data))) % 256].reshape(shape)
    values = _styled(values, int(drawn.sum()) % STYLES, domain).astype(dtype)
    return Literal(tuple(values.ravel().tolist()), shape, dtype)
