"""Decompositions of matrices with up to three columns, with the formulas of textbooks as references.

Eigenvectors and singular vectors are unique up to their signs, as the factors of QR are: each op gives them the signs
for which certain numbers on a diagonal are positive. Singular values are the roots of the eigenvalues of the matrix
times its transpose.
"""

from __future__ import annotations

from autograd_conformance.ops.rows.domains import (
    DOMINANT_BOTH_WAYS,
    EIGENVECTORS_NEAR_AXES,
    INVERTIBLE,
    SINGULAR_VALUES_APART,
    SINGULAR_VECTORS_NEAR_AXES,
    SQUARABLE,
    UNIT,
    between,
)
from autograd_conformance.ops.rows.row import Certainty, Op, table
from autograd_conformance.ops.rows.selection import stacked
from autograd_conformance.ops.rows.shapes import every, nonempty, offer, ranked, shaped, square
from autograd_conformance.ops.tables.linalg import (
    SYMMETRIC,
    cholesky,
    eigenvalues,
    expanded,
    inverse,
    matrix,
    minor,
    rows_of,
    solve,
    symmetric,
)
from autograd_conformance.programs.language import Shape
from autograd_conformance.programs.own_numpy import np


def _signs(factor: str) -> str:
    """The code of the signs of a factor's diagonal."""
    return f"{factor}.diagonal(0, -2, -1).sgn()"


EIGH = f"(lambda v, q: (v, q * {_signs('q')}.unsqueeze(-2)))(*torch.linalg.eigh({SYMMETRIC}))"
SVD = (
    f"(lambda u, s, v: (u * {_signs('v')}.unsqueeze(-2), s, v * {_signs('v')}.unsqueeze(-1)))(*torch.linalg.svd({{0}}))"
)
QR = f"(lambda q, r: (q * {_signs('r')}.unsqueeze(-2), r * {_signs('r')}.unsqueeze(-1)))(*torch.linalg.qr({{0}}))"


def _turned(j, x):
    return j.np.swapaxes(x, -1, -2)


def _singular_values(j, x):
    """Returns the singular values of matrices, in descending order."""
    least = j.np.matmul(x, _turned(j, x)) if x.shape[-2] <= x.shape[-1] else j.np.matmul(_turned(j, x), x)
    return j.np.flip(j.np.sqrt(eigenvalues(j, least)), axis=-1)


def _eigenvectors(j, x, values):
    """Returns the eigenvectors of symmetric matrices as columns, the k-th with a positive k-th element: columns of the
    adjugate of the matrix minus the eigenvalue.
    """
    n = x.shape[-1]
    columns = []
    for k in range(n):
        rows = rows_of(j, x - values[..., k, None, None] * np.eye(n))
        column = [
            (-1) ** (i + k) * expanded(minor(rows, k, i)) if n > 1 else 1.0 + 0.0 * x[..., 0, 0] for i in range(n)
        ]
        length = j.np.sqrt(sum(v * v for v in column)) * j.np.sign(column[k])
        columns.append(stacked(j, [v / length for v in column], -1))
    return stacked(j, columns, -1)


def _eigh(j, x):
    values = eigenvalues(j, x)
    return values, _eigenvectors(j, symmetric(j, x), values)


def _svd(j, x):
    least = j.np.matmul(_turned(j, x), x)
    values = j.np.flip(eigenvalues(j, least), axis=-1)
    vectors = _eigenvectors(j, least, values)
    roots = j.np.sqrt(values)
    return j.np.matmul(x, vectors) / roots[..., None, :], roots, _turned(j, vectors)


def _qr(j, x):
    upper = _turned(j, cholesky(j, j.np.matmul(_turned(j, x), x)))
    return j.np.matmul(x, inverse(j, upper)), upper


def _lu(j, x):
    a, n = rows_of(j, x), x.shape[-1]
    lower = [[1.0 + 0.0 * a[0][0] if i == k else 0.0 * a[0][0] for k in range(n)] for i in range(n)]
    for k in range(n):
        for i in range(k + 1, n):
            lower[i][k] = a[i][k] / a[k][k]
            a[i] = [0.0 * a[0][0] if m <= k else a[i][m] - lower[i][k] * a[k][m] for m in range(n)]
    return matrix(j, lower), matrix(j, a)


def _least_squares(j, a, b):
    turned = _turned(j, a)
    return solve(j, j.np.matmul(turned, a), j.np.matmul(turned, b))


def _reflections(j, a, tau):
    """Returns the product of the reflections whose vectors are below the diagonal of `a`; each has 1 on it."""
    m, n = a.shape[-2:]
    product = np.eye(m)
    for k in range(n):
        vector = np.eye(m)[:, k] + a[..., :, k] * (np.arange(m) > k)
        product = product - tau[..., k, None, None] * j.np.matmul(product, vector[..., None]) * vector[..., None, :]
    return product[..., :n]


def _tall(shape: Shape) -> bool:
    return nonempty(shape) and len(shape) > 1 and shape[-1] <= min(3, shape[-2])


def _few_rows(shape: Shape) -> bool:
    return min(shape[-2:]) <= 3


def _sides(first: Shape) -> list[tuple[Shape, ...]]:
    return [((*first[:-1], k),) for k in (1, 2)]


def _op(name: str, torch: str, reference, *domains, accepts=square, **more) -> Op:
    return Op(name, torch, reference, Certainty.ALWAYS, domains=domains, **more, **shaped(accepts))


def _norm(name: str, torch: str, reference, **more) -> Op:
    accepts = every(nonempty, ranked(2), _few_rows)
    return _op(name, torch, reference, SINGULAR_VALUES_APART, accepts=accepts, **more)


DECOMPOSITIONS = table(
    "decompositions",
    _norm("svdvals", "torch.linalg.svdvals({0})", _singular_values),
    _norm("nuclear_norm", "torch.linalg.matrix_norm({0}, 'nuc')", lambda j, x: j.np.sum(_singular_values(j, x), -1)),
    _norm(
        "spectral_norm",
        "torch.linalg.matrix_norm({0}, {ord})",
        lambda j, x, ord: _singular_values(j, x)[..., 0 if ord == 2 else -1],
        choices=offer(ord=(2, -2)),
    ),
    _op("svd", SVD, _svd, SINGULAR_VECTORS_NEAR_AXES),
    _op("eigh", EIGH, _eigh, EIGENVECTORS_NEAR_AXES),
    _op("qr", QR, _qr, INVERTIBLE, accepts=_tall),
    _op("lu", "torch.linalg.lu({0})[1:]", _lu, DOMINANT_BOTH_WAYS),
    _op(
        "lu_solve",
        "torch.linalg.lu_solve(*torch.linalg.lu_factor({0}), {1})",
        solve,
        INVERTIBLE,
        SQUARABLE,
        rest=_sides,
    ),
    _op(
        "lstsq",
        "torch.linalg.lstsq({0}, {1}, driver='gels').solution",  # the default driver gives other bits at each call
        _least_squares,
        INVERTIBLE,
        SQUARABLE,
        accepts=_tall,
        rest=_sides,
        also_saves=(1,),
    ),
    _op(
        "householder_product",
        "torch.linalg.householder_product({0}, {1})",
        _reflections,
        UNIT,
        between(1.2, 2.0, "between 1.2 and 2"),
        accepts=_tall,
        rest=lambda first: [((*first[:-2], first[-1]),)],
        also_saves=(1,),
    ),
)
