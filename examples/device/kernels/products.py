"""Products of vectors and matrices."""

from __future__ import annotations

import numpy as np

from examples.device.registry import kernel

for name in ("mm.out", "bmm.out", "dot", "vdot", "mv"):
    kernel(name)(np.matmul)


@kernel("addmm.out", "addmv.out", "baddbmm.out")
def add_product(
    x: np.ndarray, first: np.ndarray, second: np.ndarray, *, beta: float = 1, alpha: float = 1
) -> np.ndarray:
    """`alpha` times a matrix product plus `beta` times a tensor; a term whose factor is zero is not computed."""
    scaled = np.matmul(first, second) * np.asarray(alpha, x.dtype)
    return scaled if beta == 0 else x * np.asarray(beta, x.dtype) + scaled


@kernel("linalg_cross.out")
def cross(x: np.ndarray, y: np.ndarray, *, dim: int = -1) -> np.ndarray:
    """The cross product along a dimension."""
    return np.cross(x, y, axis=dim)
