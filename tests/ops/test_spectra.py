"""Singular values and eigenvalues by formulas have their digits inside the domains from which operands are drawn."""

from __future__ import annotations

import numpy as np
import pytest

from autograd_conformance.ops.tables import OPS
from autograd_conformance.reference.computation.reverse import evaluate

UNITS = 64
"""Number of roundings of the largest value by which the formulas may be off; error bounds allow more."""


def turned(rng: np.random.Generator, values: np.ndarray, symmetric: bool) -> np.ndarray:
    """A matrix with these singular values, or a symmetric one with these eigenvalues, in random directions."""
    left, right = (np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(2))
    made = left @ np.diag(values) @ (left.T if symmetric else right)
    return (made + made.T) / 2 if symmetric else made


@pytest.mark.parametrize(("op", "symmetric"), [("svdvals", False), ("eigvalsh", True)])
def test_formulas_have_their_digits_inside_the_domain(op: str, symmetric: bool) -> None:
    rng, inside = np.random.default_rng(0), 0
    for _ in range(300):
        values = np.sort(10 ** rng.uniform(-0.6, 2, 3))
        matrix = turned(rng, values, symmetric)
        if not OPS[op].domain(0).holds(matrix):
            continue
        inside += 1
        (found,) = evaluate(op, (), (matrix,))
        off = np.abs(np.sort(found) - (np.linalg.eigvalsh(matrix) if symmetric else np.sort(np.linalg.svd(matrix)[1])))
        assert off.max() <= UNITS * np.finfo("float64").eps * values[-1]
    assert inside >= 20


def test_a_large_singular_value_beside_two_close_ones_is_outside_of_the_domain() -> None:
    """By Viete's formula, the second of 22.8, 1 and 0.66 is off by 1e-11."""
    matrix = np.eye(3) + np.outer([5.0, 3.0, 1.0], [1.0, 2.0, 3.0])
    assert not OPS["svdvals"].domain(0).holds(matrix)
