"""Tensors from bytes: one draw per tensor, shrinking towards 1, 2, 3, with zeros and repeated values among them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from hypothesis import strategies as st

from autograd_conformance.ops.domains import ANY, Domain
from autograd_conformance.ops.shapes import size
from autograd_conformance.programs.language import Literal, Shape


def _plain() -> np.ndarray:
    """256 multiples of 1/8 between -4 and 4: whole numbers first, then halves, then the rest; a zero in every 16."""
    grid = [n / 8 for n in range(-32, 33) if n]
    grid.sort(key=lambda x: (x % 1 != 0, x % 0.5 != 0, x < 0, abs(x)))
    values = [grid[n % len(grid)] for n in range(256)]
    values[5::16] = [0.0] * len(values[5::16])
    return np.array(values)


VALUES = _plain()
"""The number that each byte of a drawn tensor stands for, counted from its place: the simplest tensor is 1, 2, 3, 4."""


@lru_cache(maxsize=None)
def raw(elements: int) -> st.SearchStrategy[bytes]:
    """The bytes of a tensor."""
    return st.binary(min_size=elements, max_size=elements)


def literal(data: bytes, shape: Shape, dtype: str, domain: Domain = ANY) -> Literal:
    """The tensor that bytes stand for, moved into a domain, exactly representable in its dtype."""
    values = domain.fit(VALUES[(np.frombuffer(data, np.uint8) + np.arange(len(data))) % 256].reshape(shape)).astype(
        dtype
    )
    return Literal(tuple(values.ravel().tolist()), shape, dtype)


def literals(shape: Shape, dtype: str = "float64", domain: Domain = ANY) -> st.SearchStrategy[Literal]:
    """Tensors of one shape and dtype inside a domain."""
    return raw(size(shape)).map(lambda data: literal(data, shape, dtype, domain))
