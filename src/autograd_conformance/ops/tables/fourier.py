"""Discrete Fourier transforms. A complex number is a pair of real ones, in an additional last dimension."""

from __future__ import annotations

from math import pi

from autograd_conformance.ops.rows.domains import SQUARABLE
from autograd_conformance.ops.rows.row import Certainty, Choices, Op, table
from autograd_conformance.ops.rows.shapes import every, having, nonempty, ranked, shaped
from autograd_conformance.ops.tables.complex_numbers import FIRST, pairs
from autograd_conformance.programs.language import Shape
from autograd_conformance.programs.own_numpy import np

MAYBE = Certainty.MAYBE


def _waves(n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the real and the imaginary parts of the matrix that transforms `n` numbers into `m` frequencies."""
    angles = -2 * pi / n * np.outer(np.arange(n), np.arange(m))
    return np.cos(angles), np.sin(angles)


def _pair(j, real, imaginary):
    return j.np.stack([real, imaginary], axis=-1)


def _rfft(j, x):
    n = x.shape[-1]
    cosines, sines = _waves(n, n // 2 + 1)
    return _pair(j, x @ cosines, x @ sines)


def _fft(j, x):
    real, imaginary = x[..., 0], x[..., 1]
    cosines, sines = _waves(real.shape[-1], real.shape[-1])
    return _pair(j, real @ cosines - imaginary @ sines, real @ sines + imaginary @ cosines)


def _irfft(j, x, n):
    """The inverse of `_rfft`, which takes the frequencies that are missing for the conjugates of those that are there,
    and ignores the imaginary parts of the first, and for an even `n` of the last.
    """
    m = n // 2 + 1
    real, imaginary = x[..., :m, 0], x[..., :m, 1]
    cosines, sines = _waves(n, m)
    weights = np.array([1.0 if k == 0 or 2 * k == n else 2.0 for k in range(m)])
    return ((real * weights) @ cosines.T + (imaginary * weights) @ sines.T) / n


def _lengths(shape: Shape) -> Choices:
    return [{"n": n} for n in (2 * shape[-2] - 2, 2 * shape[-2] - 1) if n > 0]


def _op(name: str, torch: str, reference, accepts, **more) -> Op:
    more = {**more, "also_saves": (0,)}  # for its shape
    return Op(name, torch, reference, MAYBE, domains=(SQUARABLE,), **more, **shaped(accepts, (3, 2), (4, 2), (2, 3, 2)))


def _complex(shape: Shape) -> bool:
    return len(shape) > 1 and shape[-1] == 2


FOURIER = table(
    "fourier",
    _op("rfft", pairs("torch.fft.rfft({0})"), _rfft, every(nonempty, having(1), ranked(1, 3))),
    _op("fft", pairs(f"torch.fft.fft({FIRST})"), _fft, every(nonempty, _complex)),
    _op(
        "irfft",
        f"torch.fft.irfft({FIRST}, n={{n}})",
        _irfft,
        every(nonempty, _complex),
        choices=_lengths,
    ),
)
