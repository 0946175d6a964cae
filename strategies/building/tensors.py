"""Tensors from bytes: one draw per tensor, shrinking towards 1, 2, 3, with zeros and repeated values among them.

Most hold multiples of 1/8, which sums and products of a few keep exact and a person reads easily. The sum of the bytes
decides which do not: some have full mantissas, which a shorter format would change, some several zeros, some are large.
"""

from __future__ import annotations

from autograd_conformance.ops.rows.domains import ANY, Domain
from autograd_conformance.programs.language import Literal, Shape
from autograd_conformance.programs.own_numpy import np


def _plain() -> np.ndarray:
    """256 multiples of 1/8 between -4 and 4: whole numbers first, then halves, then the rest; a zero in every 16."""
    grid = [n / 8 for n in range(-32, 33) if n]
    grid.sort(key=lambda x: (x % 1 != 0, x % 0.5 != 0, x < 0, abs(x)))
    values = [grid[n % len(grid)] for n in range(256)]
    values[5::16] = [0.0] * len(values[5::16])
    return np.array(values)


VALUES = _plain()
"""The number that each byte of a drawn tensor stands for, counted from its place: the simplest tensor is 1, 2, 3, 4."""


FULL = 1.0 + 2.0**0.5 / 64
"""What makes a full mantissa of a short one: the values stay about as large as they were."""

LARGE = 20.0
"""How much larger large tensors are: 80 at most, beyond which single precision cannot exponentiate."""

STYLES = 16
"""In how many equal parts tensors are divided by the sum of their bytes."""


def _styled(values: np.ndarray, style: int, domain: Domain) -> np.ndarray:
    """Drawn values with full mantissas, several zeros, or large; in most styles as they are."""
    match style:
        case 10 | 11 | 12 | 13:
            return domain.fit(values * FULL)
        case 14:
            return domain.fit(np.where(np.arange(values.size).reshape(values.shape) % 3, values, 0.0))
        case 15 if domain.holds(values * LARGE):
            return values * LARGE
        case _:
            return domain.fit(values)


def literal(data: bytes, shape: Shape, dtype: str, domain: Domain = ANY) -> Literal:
    """The tensor that bytes stand for, moved into a domain, exactly representable in its dtype."""
    drawn = np.frombuffer(data, np.uint8)
    values = VALUES[(drawn + np.arange(len(data))) % 256].reshape(shape)
    values = _styled(values, int(drawn.sum()) % STYLES, domain).astype(dtype)
    return Literal(tuple(values.ravel().tolist()), shape, dtype)
