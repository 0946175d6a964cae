"""Linear algebra on square matrices of up to three rows (the norm: on any matrices), with the formulas of textbooks as
references.

A determinant is its expansion by cofactors, an inverse is the adjugate over the determinant, and eigenvalues are roots
of a cubic. All are smooth to any order. Ops that read one triangle of a symmetric matrix get the symmetric part, so
that their gradient is well defined.
"""

from __future__ import annotations

from math import pi

from autograd_conformance.ops.rows.domains import (
    DETERMINED,
    DOMINANT,
    INVERTIBLE,
    POSITIVE_DEFINITE,
    SMALL,
    SPLIT_SPECTRUM,
    SQUARABLE,
    ZEROS_APART,
    strictly,
)
from autograd_conformance.ops.rows.row import RESULTS, Certainty, Op, table
from autograd_conformance.ops.rows.selection import entry, stacked
from autograd_conformance.ops.rows.shapes import every, nonempty, offer, ranked, shaped, square
from autograd_conformance.programs.language import Shape
from autograd_conformance.programs.own_numpy import np

ALWAYS = Certainty.ALWAYS

SYMMETRIC = "({0} + {0}.transpose(-2, -1)) / 2"


def rows_of(j, x):
    """Returns the entries of matrices as nested lists of rows, each entry as an array over all leading dimensions."""
    n = x.shape[-1]
    return [[entry(j, x, i, k) for k in range(n)] for i in range(n)]


def matrix(j, rows):
    """Returns matrices whose entries are given as nested lists of rows."""
    return stacked(j, [stacked(j, row, -1) for row in rows], -2)


def minor(rows, i, k):
    """Returns nested lists of entries without row `i` and column `k`."""
    return [row[:k] + row[k + 1 :] for at, row in enumerate(rows) if at != i]


def expanded(rows):
    """Computes the determinant of a matrix, given as nested lists of its entries, by the cofactors of the first row."""
    if len(rows) == 1:
        return rows[0][0]
    return sum((-1) ** k * rows[0][k] * expanded(minor(rows, 0, k)) for k in range(len(rows)))


def _det(j, x):
    return expanded(rows_of(j, x))


def _slogdet(j, x):
    det = _det(j, x)
    return j.np.sign(det), j.np.log(j.np.abs(det))


def inverse(j, x):
    """Returns the inverses of matrices: the adjugate over the determinant."""
    if x.shape[-1] == 1:
        return 1 / x
    rows = rows_of(j, x)
    n = range(len(rows))
    det = expanded(rows)
    return matrix(j, [[(-1) ** (i + k) * expanded(minor(rows, k, i)) / det for k in n] for i in n])


def _pinv(j, x):
    """Returns the Moore-Penrose inverse of an invertible matrix, or of one with independent rows or columns."""
    turned = j.np.swapaxes(x, -1, -2)
    if x.shape[-2] <= x.shape[-1]:
        return j.np.matmul(turned, inverse(j, j.np.matmul(x, turned)))
    return j.np.matmul(inverse(j, j.np.matmul(turned, x)), turned)


def _cholesky_solve(j, b, lower):
    triangle = j.np.where(np.tril(np.ones(lower.shape[-2:], bool)), lower, 0.0)
    return solve(j, j.np.matmul(triangle, j.np.swapaxes(triangle, -1, -2)), b)


def solve(j, a, b):
    """Returns the solution of linear equations, by the inverse of their matrix."""
    return j.np.matmul(inverse(j, a), b)


def _solve_triangular(j, a, b, upper):
    triangle = np.triu(np.ones(a.shape[-2:], bool)) if upper else np.tril(np.ones(a.shape[-2:], bool))
    return solve(j, j.np.where(triangle, a, 0.0), b)


def symmetric(j, x):
    """Returns the symmetric part of matrices."""
    return (x + j.np.swapaxes(x, -1, -2)) / 2


def cholesky(j, x):
    """Returns the Cholesky factors of the symmetric part of matrices."""
    a = rows_of(j, symmetric(j, x))
    n = len(a)
    lower = [[0.0 * a[0][0]] * n for _ in range(n)]
    for i in range(n):
        for k in range(i + 1):
            rest = a[i][k] - sum(lower[i][m] * lower[k][m] for m in range(k))
            lower[i][k] = j.np.sqrt(rest) if i == k else rest / lower[k][k]
    return matrix(j, lower)


def eigenvalues(j, x):
    """Returns the eigenvalues of the symmetric part of matrices, in ascending order: the roots of the characteristic
    polynomial, for three rows by Viete's formula.
    """
    a = rows_of(j, symmetric(j, x))
    n = len(a)
    mean = sum(a[i][i] for i in range(n)) / n
    if n == 1:
        return stacked(j, [mean], -1)
    centred = [[a[i][k] - mean if i == k else a[i][k] for k in range(n)] for i in range(n)]
    spread = j.np.sqrt(sum(v * v for row in centred for v in row) / (n * (n - 1)))
    if n == 2:
        return stacked(j, [mean - spread, mean + spread], -1)
    angle = (pi / 2 - j.np.arcsin(expanded(centred) / (2 * spread * spread * spread))) / 3
    return stacked(j, [mean + 2 * spread * j.np.cos(angle + turn * 2 * pi / 3) for turn in (1, 2, 0)], -1)


def _power(j, x, n):
    base = x if n > 0 else inverse(j, x)
    out = base
    for _ in range(abs(n) - 1):
        out = j.np.matmul(out, base)
    return out


def _exp(j, x):
    """The matrix exponential: a Taylor series at a quarter of the matrix, squared twice."""
    quarter, n = x / 4, 16
    out = term = np.eye(x.shape[-1])
    for k in range(1, n + 1):
        term = j.np.matmul(quarter, term) / k
        out = out + term
    out = j.np.matmul(out, out)
    return j.np.matmul(out, out)


def _right_sides(first: Shape) -> list[tuple[Shape, ...]]:
    n = first[-1]
    columns: list[tuple[Shape, ...]] = [((*first[:-1], k),) for k in (1, 2, 3)]
    return [*columns, ((n,),)] if len(first) == 2 else columns


def _op(name: str, torch: str, reference, *domains, accepts=square, **more) -> Op:
    return Op(name, torch, reference, ALWAYS, domains=domains, **more, **shaped(accepts))


LINALG = table(
    "linalg",
    _op("det", "torch.linalg.det({0})", _det, DETERMINED, also_saves=(0, RESULTS)),  # of one row, it is linear
    _op("slogdet", "torch.linalg.slogdet({0})", _slogdet, INVERTIBLE),
    _op("logdet", "torch.logdet({0})", lambda j, x: j.np.log(_det(j, x)), DOMINANT),
    _op("inv", "torch.linalg.inv({0})", inverse, INVERTIBLE),
    _op("pinv", "torch.linalg.pinv({0})", _pinv, INVERTIBLE),
    _op(
        "cholesky_inverse",
        "torch.cholesky_inverse(torch.tril({0}))",
        lambda j, x: _cholesky_solve(j, np.eye(x.shape[-1]), x),
        DOMINANT,
    ),
    _op(
        "cholesky_solve",
        "torch.cholesky_solve({0}, torch.tril({1}))",
        _cholesky_solve,
        SQUARABLE,
        DOMINANT,
        accepts=every(nonempty, ranked(2), lambda shape: shape[-2] <= 3),
        rest=lambda first: [((*first[:-1], first[-2]),)],
        also_saves=(0,),
    ),
    _op("solve", "torch.linalg.solve({0}, {1})", solve, INVERTIBLE, SQUARABLE, rest=_right_sides),
    _op(
        "solve_triangular",
        "torch.linalg.solve_triangular({0}, {1}, upper={upper})",
        _solve_triangular,
        DOMINANT,
        SQUARABLE,
        rest=lambda first: _right_sides(first)[:3],
        choices=offer(upper=(True, False)),
    ),
    _op("cholesky", f"torch.linalg.cholesky({SYMMETRIC})", cholesky, POSITIVE_DEFINITE),
    _op(
        "eigvalsh",
        f"torch.linalg.eigvalsh({SYMMETRIC})",
        eigenvalues,
        SPLIT_SPECTRUM,
        also_saves=(RESULTS,),  # of one row, it is linear
    ),
    _op("matrix_power", "torch.linalg.matrix_power({0}, {n})", _power, INVERTIBLE, choices=offer(n=(2, 3, -1, -2))),
    _op("matrix_exp", "torch.linalg.matrix_exp({0} / 4)", lambda j, x: _exp(j, x / 4), strictly(SMALL)),
    _op(
        "matrix_norm",
        "torch.linalg.matrix_norm({0})",
        lambda j, x: j.np.sqrt(j.np.sum(x * x, axis=(-2, -1))),
        ZEROS_APART,
        accepts=every(nonempty, ranked(2)),
    ),
)
