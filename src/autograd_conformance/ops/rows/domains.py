"""Domains: sets where an op is smooth, with a margin, so that no judgement depends on a kink, a pole or a tie.

`holds` decides whether values that a program computed may enter the op. `fit` moves freely drawn values (multiples of
1/8 between -4 and 4) into the domain; `holds(fit(x))` is true for every such x. `is_smooth` decides, for programs that
no strategy drew, whether the op is smooth there: many domains are smaller than that, only to keep numbers small. A
gradient at a kink is a convention, which is reported separately and never judged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from autograd_conformance.programs.own_numpy import np

MARGIN = 0.05
"""The minimum absolute distance of drawn values from a kink, a pole or a tie; it is far larger than float32's rounding
errors here.
"""

NEAR = 0.001
"""The minimum distance from a pole, or from the end of an op's domain of definition, of values that no strategy drew
and at which the op still counts as smooth.
"""

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class Domain:
    """A set of tensors on which an op is smooth, with a margin, and keeps numbers small, such as values of at least
    0.1.
    """

    name: str
    """The name of the set in messages, such as ``positive``."""
    holds: Callable[[Array], bool]
    """Tests if the set contains a tensor, with a margin."""
    fit: Callable[[Array], Array]
    """Moves a tensor of freely drawn values (multiples of 1/8 from -4 to 4) into the set, and keeps the shape."""
    smooth_outside: Callable[[Array], bool] | None = None
    """Tests if an op is smooth at a tensor that may be outside the set; None if an op counts as smooth only inside."""
    kinks: tuple[float, ...] = ()
    """Single numbers at which the op has no derivative."""
    edge: Callable[[Array], Array] | None = None
    """Moves a tensor of the set to where the op is smooth, too, but implementations divide by zero: a singular matrix
    for a determinant. None if there is no such place.
    """
    is_strict: bool = False
    """Whether an op's numbers say nothing outside the set: they are rounding errors, or the op is another one there."""

    def is_smooth(self, x: Array) -> bool:
        """Whether an op is smooth at a tensor that may be outside the domain."""
        return (self.smooth_outside or self.holds)(x)


def strictly(domain: Domain) -> Domain:
    """Returns the same domain for an op that is not judged outside the domain, because the op is defined differently
    there, or its derivative there has only rounding errors.
    """
    return replace(domain, smooth_outside=None, is_strict=True)


def everywhere(x: Array) -> bool:
    return True


def _inside(low: float, high: float = np.inf) -> Callable[[Array], bool]:
    """Returns a test that all values are between two ends, and at least `NEAR` away from both."""
    return lambda x: x.size == 0 or bool(x.min() >= low + NEAR and x.max() <= high - NEAR)


def _signs(x: Array) -> Array:
    return np.where(x < 0, -1.0, 1.0)


def between(low: float, high: float, name: str, smooth_outside: Callable[[Array], bool] | None = None) -> Domain:
    """Makes the domain of values in [low, high]; drawn values from -4 to 4 are spread over its inner part."""
    inner_low, inner_high = low + (high - low) / 32, high - (high - low) / 32
    return Domain(
        name,
        lambda x: x.size == 0 or (x.min() >= low and x.max() <= high),
        lambda x: inner_low + (np.clip(x, -4, 4) + 4) / 8 * (inner_high - inner_low),
        smooth_outside,
    )


def off(*kinks: float) -> Domain:
    """Makes the domain of values at least `MARGIN` away from each of the given kinks."""

    def holds(x: Array) -> bool:
        return all(x.size == 0 or np.abs(x - k).min() >= MARGIN for k in kinks)

    def fit(x: Array) -> Array:
        for k in kinks:
            x = np.where(np.abs(x - k) < 2 * MARGIN, k + 3 * MARGIN * _signs(x - k), x)
        return x

    return Domain("off " + ", ".join(f"{k:g}" for k in kinks), holds, fit, kinks=kinks)


def _gap(x: Array) -> float:
    flat = np.sort(x, axis=None)
    return float(np.diff(flat).min()) if flat.size > 1 else np.inf


def _spread(x: Array) -> Array:
    """Returns values in the same order as those of `x` (ties broken by position), but a quarter or more apart from each
    other.
    """
    flat = x.reshape(-1)
    ranks = np.empty(flat.size)
    ranks[np.argsort(flat, kind="stable")] = np.arange(flat.size)
    return (np.floor(np.clip(flat, -4, 4)) / 4 + 0.5 * ranks - 0.25 * flat.size + 0.125).reshape(x.shape)


ANY = Domain("any", lambda x: True, lambda x: x)
SMALL = between(-4.0, 4.0, "within 4", everywhere)
POSITIVE = Domain("positive", lambda x: x.size == 0 or x.min() >= 0.1, lambda x: np.abs(x) + 0.25, _inside(0.0))
NONZERO = Domain(
    "off zero",
    lambda x: x.size == 0 or np.abs(x).min() >= 0.1,
    lambda x: x + 0.25 * _signs(x),
    lambda x: _inside(0.0)(np.abs(x)),
)
UNIT = between(-0.9, 0.9, "within the unit interval", _inside(-1.0, 1.0))
ABOVE_ONE = Domain("above one", lambda x: x.size == 0 or x.min() >= 1.1, lambda x: np.abs(x) + 1.25, _inside(1.0))
PROBABILITY = between(0.05, 0.95, "inside (0, 1)", _inside(0.0, 1.0))
DISTINCT = Domain("no ties", lambda x: _gap(x) >= MARGIN, _spread)


def _zeros_apart(x: Array) -> bool:
    """Whether each element is zero or at least 0.1 in magnitude, and no two zeros are neighbours along a dimension, so
    that each line of elements along a dimension has another number than zero.
    """
    zero = np.abs(x) < 0.1
    if not zero.any():
        return True
    if (x[zero] != 0).any():
        return False
    lines = [np.moveaxis(zero, axis, 0) for axis in range(x.ndim)]
    return bool(lines) and all(len(z) > 1 and not (z[1:] & z[:-1]).any() for z in lines)


def _with_zeros_apart(x: Array) -> Array:
    fitted = x + 0.25 * _signs(x)
    if x.ndim == 0 or min(x.shape) < 2:
        return fitted
    return np.where((np.indices(x.shape).sum(0) % 2 == 1) & (np.abs(x) < 0.5), 0.0, fitted)


ZEROS_APART = Domain("zeros apart", _zeros_apart, _with_zeros_apart)
"""Zeros between other numbers: a norm over a line of elements is smooth there."""


def within(bound: float) -> Domain:
    """Makes the domain of values of at most `bound` (4 or more) in magnitude, which contains all drawn values."""
    return Domain(f"within {bound:g}", lambda x: x.size == 0 or bool(np.abs(x).max() <= bound), lambda x: x, everywhere)


def off_steps(first: float) -> Domain:
    """Makes the domain of values at least `MARGIN` away from `first` plus every integer, where ops such as `round`
    jump.
    """

    def distance(x: Array) -> Array:
        return x - first - np.round(x - first)

    def holds(x: Array) -> bool:
        return x.size == 0 or bool(np.abs(distance(x)).min() >= MARGIN)

    return Domain(
        f"off {first:g} + integers",
        holds,
        lambda x: np.where(np.abs(distance(x)) < 2 * MARGIN, x + 0.25, x),
        kinks=(first,),
    )


def _magnitudes(x: Array) -> Array:
    return _signs(x) * (0.25 + (_spread(np.abs(x)) - _spread(np.abs(x)).min()) if x.size else x)


MODERATE = within(10.0)
SQUARABLE = within(1000.0)
POWERS = between(0.2, 5.0, "between 0.2 and 5", _inside(0.0))
TANGENT = between(-1.3, 1.3, "inside (-pi/2, pi/2)", lambda x: _inside(0.0)(np.abs(np.cos(x))))
ABOVE_MINUS_ONE = Domain(
    "above minus one", lambda x: x.size == 0 or x.min() >= -0.9, lambda x: np.abs(x) - 0.75, _inside(-1.0)
)
DISTINCT_MAGNITUDES = Domain(
    "magnitudes without ties",
    lambda x: _gap(np.abs(x)) >= MARGIN and (x.size == 0 or bool(np.abs(x).min() >= 0.1)),
    _magnitudes,
)


def _matrices(x: Array) -> Array:
    return x.reshape(-1, *x.shape[-2:])


def _invertible(x: Array) -> bool:
    return x.size == 0 or bool(np.linalg.svd(_matrices(x), compute_uv=False).min() >= 0.5)


def _dominant(x: Array) -> Array:
    m, n = x.shape[-2:]
    return np.clip(x, -4, 4) / 4 + (n + 0.5) * np.eye(m, n)


def has_equal_rows(x: Array) -> bool:
    """Whether the first and the last row of each matrix are equal, and the others make the matrix invertible."""
    if x.ndim < 2 or x.shape[-2] < 2:
        return False
    y = _matrices(x)
    return np.array_equal(y[:, 0], y[:, -1]) and bool(
        np.linalg.svd(y[:, 1:], compute_uv=False).min(initial=np.inf) >= 0.5
    )


def with_equal_rows(x: Array) -> Array:
    """Returns matrices whose last row is the first one; a matrix of one row stays."""
    return np.concatenate([x[..., :-1, :], x[..., :1, :]], axis=-2) if x.shape[-2] > 1 else x


def _positive_definite(x: Array) -> bool:
    y = _matrices(x)
    return x.size == 0 or bool(np.array_equal(y, y.swapaxes(-1, -2)) and np.linalg.eigvalsh(y).min() >= 0.25)


def _symmetric_spread(x: Array) -> Array:
    n = x.shape[-1]
    y = np.clip(x, -4, 4) / 16
    return (y + y.swapaxes(-1, -2)) / 2 + np.diag(1.0 + 2.0 * np.arange(n))


def _apart(eigenvalues: Array) -> bool:
    """Whether eigenvalues, which are positive, differ by a quarter at least, and by a 16th of the largest one: by
    Viete's formula, close eigenvalues beside a large one have few digits.
    """
    return _gap(eigenvalues) >= max(0.25, eigenvalues.max(initial=0.0) / 16)


def _split_spectrum(x: Array) -> bool:
    if not _positive_definite(x):
        return False
    return x.size == 0 or all(_apart(np.linalg.eigvalsh(m)) for m in _matrices(x))


def _near_axes(vectors: Array) -> bool:
    return bool(np.abs(np.diagonal(vectors, axis1=-2, axis2=-1)).min() >= 0.5)


def _eigenvectors_near_axes(x: Array) -> bool:
    return _split_spectrum(x) and (x.size == 0 or _near_axes(np.linalg.eigh(x)[1]))


def _split_singular_values(x: Array) -> bool:
    """Whether the singular values of matrices are apart, as are their squares, from which they are computed, and the
    largest is at most 24 times the smallest.
    """
    if x.size == 0:
        return True
    found = np.linalg.svd(_matrices(x), compute_uv=False)
    if not found.min() >= max(0.25, found.max() / 24):
        return False
    return all(_gap(each) >= 0.25 and _apart(each * each) for each in found)


def _singular_vectors_near_axes(x: Array) -> bool:
    return _split_singular_values(x) and (x.size == 0 or _near_axes(np.linalg.svd(x)[2]))


def _singular_values_spread(x: Array) -> Array:
    m, n = x.shape[-2:]
    return np.clip(x, -4, 4) / 16 + np.eye(m, n) * (2.0 * min(m, n) - 1.0 - 2.0 * np.arange(n))


def _diagonally_dominant(x: Array) -> bool:
    size = np.abs(x)
    diagonal = np.diagonal(size, axis1=-2, axis2=-1)
    return x.size == 0 or bool((2 * diagonal - size.sum(-1)).min() >= 0.25)


def _dominant_both_ways(x: Array) -> bool:
    return _diagonally_dominant(x) and _diagonally_dominant(x.swapaxes(-1, -2))


def _rows_apart(x: Array) -> bool:
    gaps = np.abs(x[:, None] - x[None, :]).max(-1, initial=0.0) + np.eye(len(x))
    return x.size == 0 or bool(gaps.min() >= MARGIN)


def _differences_off_one(x: Array) -> bool:
    gaps = np.abs(x[..., :, None] - x[..., None, :])
    return bool(np.abs(gaps - 1.0).min(initial=np.inf) >= MARGIN)


INVERTIBLE = Domain("well-conditioned", _invertible, _dominant)
DETERMINED = replace(INVERTIBLE, smooth_outside=lambda x: _invertible(x) or has_equal_rows(x), edge=with_equal_rows)
"""Matrices whose determinant is not 0; but it is a polynomial, and so smooth where it is 0, too."""
DOMINANT = Domain("diagonally dominant", _diagonally_dominant, _dominant)
POSITIVE_DEFINITE = Domain("positive definite", _positive_definite, _symmetric_spread)
DOMINANT_BOTH_WAYS = Domain("dominant in rows and columns", _dominant_both_ways, _dominant)
EIGENVECTORS_NEAR_AXES = Domain("eigenvectors near the axes", _eigenvectors_near_axes, _symmetric_spread)
SINGULAR_VALUES_APART = Domain("singular values apart", _split_singular_values, _singular_values_spread)
SINGULAR_VECTORS_NEAR_AXES = Domain(
    "singular vectors near the axes", _singular_vectors_near_axes, _singular_values_spread
)
ROWS_APART = Domain("no equal rows", _rows_apart, _spread)
DIFFERENCES_OFF_ONE = Domain("differences off one", _differences_off_one, lambda x: 1.5 * _spread(x))
SPLIT_SPECTRUM = Domain("eigenvalues apart", _split_spectrum, _symmetric_spread)
