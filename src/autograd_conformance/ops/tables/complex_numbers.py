"""Functions of complex numbers. A complex number is a pair of real ones, in an additional last dimension, so that
gradients are those of real functions, and do not depend on a framework's convention for complex gradients.
"""

from __future__ import annotations

from dataclasses import replace

from autograd_conformance.ops.rows.domains import (
    POSITIVE,
    SMALL,
    SQUARABLE,
    Domain,
    between,
    everywhere,
    has_equal_rows,
    strictly,
    with_equal_rows,
)
from autograd_conformance.ops.rows.row import LARGEST, Certainty, Op, table
from autograd_conformance.ops.rows.shapes import broadcast, every, nonempty, offer, ranked, same, shaped, size
from autograd_conformance.programs.language import Shape
from autograd_conformance.programs.own_numpy import np

Array = np.ndarray

FIRST, SECOND, THIRD = (f"torch.complex({{{k}}}[..., 0], {{{k}}}[..., 1])" for k in range(3))
"""The code of the complex numbers of an operand."""


def pairs(numbers: str) -> str:
    """The code of complex numbers as pairs of real ones."""
    return f"torch.view_as_real({numbers}).clone()"


# -- domains -----------------------------------------------------------------------------------------------------------


def _apart_from_zero(x: Array) -> bool:
    return x.size == 0 or bool(np.hypot(x[..., 0], x[..., 1]).min() >= 0.25)


def _moved_right(x: Array) -> Array:
    return np.concatenate([np.abs(x[..., :1]) + 0.25, x[..., 1:]], axis=-1)


def _moved_from_zero(x: Array) -> Array:
    return np.concatenate([x[..., :1] + np.where(x[..., :1] < 0, -0.25, 0.25), x[..., 1:]], axis=-1)


def _as_complex(x: Array) -> Array:
    return x[..., 0] + 1j * x[..., 1]


def _with_zero(x: Array) -> Array:
    """Returns numbers of which the first, a real or a complex one, is 0."""
    return np.where(np.indices(x.shape)[0] > 0, x, 0.0) if x.ndim else np.zeros_like(x)


def _invertible(x: Array) -> bool:
    return x.ndim > 2 and bool(np.linalg.svd(_as_complex(x), compute_uv=False).min() >= 0.5)


def _dominant(x: Array) -> Array:
    n = x.shape[-2]
    return np.clip(x, -4, 4) / 8 + (n + 0.5) * np.stack([np.eye(n), np.zeros((n, n))], axis=-1)


RIGHT_HALF_PLANE = Domain(
    "right half plane", lambda x: x.size == 0 or bool(x[..., 0].min() >= 0.1 and np.abs(x).max() <= 1000), _moved_right
)
COMPLEX_NONZERO = Domain(
    "off complex zero", lambda x: _apart_from_zero(x) and bool(np.abs(x).max(initial=0) <= 1000), _moved_from_zero
)
COMPLEX_INVERTIBLE = Domain("well-conditioned complex", _invertible, _dominant)
COMPLEX_FACTORS = replace(COMPLEX_NONZERO, smooth_outside=everywhere, edge=_with_zero)
COMPLEX_DETERMINED = replace(
    COMPLEX_INVERTIBLE,
    smooth_outside=lambda x: _invertible(x) or has_equal_rows(_as_complex(x)),
    edge=lambda x: np.stack([with_equal_rows(x[..., 0]), with_equal_rows(x[..., 1])], axis=-1),
)
RADIUS = replace(POSITIVE, smooth_outside=lambda x: x.size == 0 or x.min() >= 0, edge=_with_zero)
"""The moduli of complex numbers; negative numbers are none."""
EXPONENT = between(-2.0, 2.0, "within 2")
TANH = Domain(
    "far from the poles of tanh",
    lambda x: x.size == 0 or bool(x[..., 0].min() >= 0.25 and np.abs(x).max() <= 8),
    lambda x: np.clip(_moved_right(x), -4, 4),
)


# -- references: a complex number is its real and its imaginary part ---------------------------------------------------


def _parts(x):
    return x[..., 0], x[..., 1]


def _pair(j, number):
    return j.np.stack(number, axis=-1)


def _times(z, w):
    return z[0] * w[0] - z[1] * w[1], z[0] * w[1] + z[1] * w[0]


def _conjugate(z):
    return z[0], -z[1]


def _minus(z, w):
    return z[0] - w[0], z[1] - w[1]


def _squared(z):
    """Returns the square of the modulus."""
    return z[0] * z[0] + z[1] * z[1]


def _over(z, w):
    real, imaginary = _times(z, _conjugate(w))
    return real / _squared(w), imaginary / _squared(w)


def _reciprocal(z):
    return z[0] / _squared(z), -z[1] / _squared(z)


def _exp(j, z):
    return j.np.exp(z[0]) * j.np.cos(z[1]), j.np.exp(z[0]) * j.np.sin(z[1])


def _log(j, z):
    return j.np.log(_squared(z)) / 2, j.np.arctan2(z[1], z[0])


def _sqrt(j, z):
    root = j.np.sqrt((j.np.sqrt(_squared(z)) + z[0]) / 2)
    return root, z[1] / (2 * root)


def _sin(j, z):
    return j.np.sin(z[0]) * j.np.cosh(z[1]), j.np.cos(z[0]) * j.np.sinh(z[1])


def _cos(j, z):
    return j.np.cos(z[0]) * j.np.cosh(z[1]), -j.np.sin(z[0]) * j.np.sinh(z[1])


def _tanh(j, z):
    both = j.np.cosh(2 * z[0]) + j.np.cos(2 * z[1])
    return j.np.sinh(2 * z[0]) / both, j.np.sin(2 * z[1]) / both


def _sgn(j, z):
    modulus = j.np.sqrt(_squared(z))
    return z[0] / modulus, z[1] / modulus


def _power(z, exponent):
    """Returns an integer power, which is not 0."""
    made = z
    for _ in range(abs(exponent) - 1):
        made = _times(made, z)
    return made if exponent > 0 else _reciprocal(made)


def _products(x):
    """Returns the products of the first number, the first two, and so on."""
    numbers = [(x[k, 0], x[k, 1]) for k in range(x.shape[0])]
    made = [numbers[0]]
    for number in numbers[1:]:
        made.append(_times(made[-1], number))
    return made


def _matmul(j, a, b):
    (ar, ai), (br, bi) = _parts(a), _parts(b)
    return _pair(j, (ar @ br - ai @ bi, ar @ bi + ai @ br))


def _adjoint(j, a):
    return j.np.stack([j.np.swapaxes(a[..., 0], -1, -2), -j.np.swapaxes(a[..., 1], -1, -2)], axis=-1)


def _entries(x):
    n = x.shape[-2]
    return [[(x[..., i, k, 0], x[..., i, k, 1]) for k in range(n)] for i in range(n)]


def _det(rows):
    if len(rows) == 1:
        return rows[0][0]
    return _minus(_times(rows[0][0], rows[1][1]), _times(rows[0][1], rows[1][0]))


def _inverse(j, x):
    rows = _entries(x)
    det = _det(rows)
    if len(rows) == 1:
        return _pair(j, _reciprocal(det))[..., None, None, :]
    (a, b), (c, d) = rows
    adjugate = [[d, (-b[0], -b[1])], [(-c[0], -c[1]), a]]
    return j.np.stack([j.np.stack([_pair(j, _over(e, det)) for e in row], axis=-2) for row in adjugate], axis=-3)


def _unary(function):
    return lambda j, x, **attrs: _pair(j, function(j, _parts(x), **attrs))


def _binary(function):
    return lambda j, x, y: _pair(j, function(_parts(x), _parts(y)))


def _ifft(j, x):
    real, imaginary = _parts(x)
    n = real.shape[-1]
    angles = 2 * np.pi / n * np.outer(np.arange(n), np.arange(n))
    cosines, sines = np.cos(angles) / n, np.sin(angles) / n
    return _pair(j, (real @ cosines - imaginary @ sines, real @ sines + imaginary @ cosines))


# -- shapes ------------------------------------------------------------------------------------------------------------


def _complex(shape: Shape) -> bool:
    return bool(shape) and shape[-1] == 2


def _partners(first: Shape) -> list[tuple[Shape, ...]]:
    """Returns shapes of the other operand: the same, and those that broadcast, in either direction."""
    options = dict.fromkeys([first, (2,), (1, 2), (*([1] * (len(first) - 1)), 2), (3, 1, 2), (2, *first)])
    return [(s,) for s in options if (c := broadcast(first[:-1], s[:-1])) is not None and 2 * size(c) <= LARGEST]


def _factors(first: Shape) -> list[tuple[Shape, ...]]:
    return [((first[1], k, 2),) for k in (2, 1, 3) if 2 * first[0] * k <= LARGEST]


def _adjoint_factors(first: Shape) -> list[tuple[Shape, ...]]:
    return [((k, first[1], 2),) for k in (2, 1, 3) if 2 * first[0] * k <= LARGEST]


def _right_sides(first: Shape) -> list[tuple[Shape, ...]]:
    return [((first[0], k, 2),) for k in (1, 2)]


def _squares(shape: Shape) -> bool:
    return len(shape) == 3 and shape[0] == shape[1] in (1, 2) and shape[2] == 2


def _two_more(first: Shape) -> list[tuple[Shape, ...]]:
    return [(first, first)]


# PyTorch saves the operands of torch.complex for their shapes: hence `also_saves`, where no derivative needs them.


def _op(name: str, torch: str, reference, accepts=lambda shape: True, *, domains=(SMALL,), **more) -> Op:
    shapes = shaped(every(nonempty, _complex, accepts), (3, 2), (2,), (1, 2), (2, 2, 2), (1, 1, 2))
    return Op(name, torch, reference, Certainty.MAYBE, domains=domains, **more, **shapes)


VECTOR, MATRIX = ranked(2, 2), ranked(3, 3)

COMPLEX_NUMBERS = table(
    "complex numbers",
    _op("complex_multiply", pairs(f"{FIRST} * {SECOND}"), _binary(_times), rest=_partners, also_saves=(0, 1)),
    _op(
        "complex_multiply_conj",
        pairs(f"{FIRST} * {SECOND}.conj()"),
        _binary(lambda z, w: _times(z, _conjugate(w))),
        rest=_partners,
        also_saves=(0, 1),
    ),
    _op(
        "complex_divide",
        pairs(f"{FIRST} / {SECOND}"),
        _binary(_over),
        rest=_partners,
        domains=(SMALL, COMPLEX_NONZERO),
        also_saves=(0,),
    ),
    _op(
        "complex_pow",
        pairs(f"{FIRST} ** {SECOND}"),
        lambda j, x, y: _pair(j, _exp(j, _times(_parts(y), _log(j, _parts(x))))),
        rest=same,
        domains=(RIGHT_HALF_PLANE, EXPONENT),
    ),
    _op(
        "complex_pow_integer",
        pairs(f"{FIRST} ** {{exponent}}"),
        _unary(lambda j, z, exponent: _power(z, exponent)),
        choices=offer(exponent=(2, 3, -1, -2)),
        domains=(COMPLEX_NONZERO,),
    ),
    _op(
        "complex_reciprocal",
        pairs(f"torch.reciprocal({FIRST})"),
        _unary(lambda j, z: _reciprocal(z)),
        domains=(COMPLEX_NONZERO,),
    ),
    _op("complex_exp", pairs(f"torch.exp({FIRST})"), _unary(_exp), domains=(strictly(SMALL),)),
    _op("complex_log", pairs(f"torch.log({FIRST})"), _unary(_log), domains=(RIGHT_HALF_PLANE,)),
    _op("complex_sqrt", pairs(f"torch.sqrt({FIRST})"), _unary(_sqrt), domains=(RIGHT_HALF_PLANE,)),
    _op("complex_sin", pairs(f"torch.sin({FIRST})"), _unary(_sin), domains=(strictly(SMALL),)),
    _op("complex_cos", pairs(f"torch.cos({FIRST})"), _unary(_cos), domains=(strictly(SMALL),)),
    _op("complex_tanh", pairs(f"torch.tanh({FIRST})"), _unary(_tanh), domains=(TANH,)),
    _op(
        "complex_abs",
        f"torch.abs({FIRST})",
        lambda j, x: j.np.sqrt(_squared(_parts(x))),
        domains=(COMPLEX_NONZERO,),
    ),
    _op(
        "complex_angle",
        f"torch.angle({FIRST})",
        lambda j, x: j.np.arctan2(x[..., 1], x[..., 0]),
        domains=(RIGHT_HALF_PLANE,),
    ),
    _op("complex_sgn", pairs(f"torch.sgn({FIRST})"), _unary(_sgn), domains=(COMPLEX_NONZERO,)),
    Op(
        "polar",
        pairs("torch.polar({0}, {1})"),
        lambda j, radius, angle: _pair(j, (radius * j.np.cos(angle), radius * j.np.sin(angle))),
        Certainty.MAYBE,
        rest=same,
        domains=(RADIUS, SMALL),
        **shaped(lambda shape: 0 < 2 * size(shape) <= LARGEST),
    ),
    _op(
        "complex_addcmul",
        pairs(f"torch.addcmul({FIRST}, {SECOND}, {THIRD}, value=0.5)"),
        lambda j, x, y, z: x + 0.5 * _pair(j, _times(_parts(y), _parts(z))),
        rest=_two_more,
        also_saves=(0, 1, 2),
    ),
    _op(
        "complex_lerp",
        pairs(f"torch.lerp({FIRST}, {SECOND}, {THIRD})"),
        lambda j, x, y, z: x + _pair(j, _times(_parts(z), _minus(_parts(y), _parts(x)))),
        rest=_two_more,
        also_saves=(0, 1, 2),
    ),
    _op(
        "complex_matmul",
        pairs(f"{FIRST} @ {SECOND}"),
        _matmul,
        MATRIX,
        rest=_factors,
        domains=(SQUARABLE,),
        also_saves=(0, 1),
    ),
    _op(
        "complex_matmul_adjoint",
        pairs(f"{FIRST} @ {SECOND}.mH"),
        lambda j, a, b: _matmul(j, a, _adjoint(j, b)),
        MATRIX,
        rest=_adjoint_factors,
        domains=(SQUARABLE,),
        also_saves=(0, 1),
    ),
    _op(
        "complex_vdot",
        pairs(f"torch.vdot({FIRST}, {SECOND})"),
        lambda j, a, b: j.np.sum(_pair(j, _times(_conjugate(_parts(a)), _parts(b))), axis=0),
        VECTOR,
        rest=same,
        domains=(SQUARABLE,),
        also_saves=(0, 1),
    ),
    _op("complex_inv", pairs(f"torch.linalg.inv({FIRST})"), _inverse, _squares, domains=(COMPLEX_INVERTIBLE,)),
    _op(
        "complex_det",
        pairs(f"torch.linalg.det({FIRST})"),
        lambda j, x: _pair(j, _det(_entries(x))),
        _squares,
        domains=(COMPLEX_DETERMINED,),
        also_saves=(0,),
    ),
    _op(
        "complex_solve",
        pairs(f"torch.linalg.solve({FIRST}, {SECOND})"),
        lambda j, a, b: _matmul(j, _inverse(j, a), b),
        _squares,
        rest=_right_sides,
        domains=(COMPLEX_INVERTIBLE, SMALL),
        also_saves=(1,),
    ),
    _op(
        "complex_prod",
        pairs(f"torch.prod({FIRST})"),
        lambda j, x: _pair(j, _products(x)[-1]),
        VECTOR,
        domains=(COMPLEX_FACTORS,),
        also_saves=(0,),
    ),
    _op(
        "complex_cumprod",
        pairs(f"torch.cumprod({FIRST}, 0)"),
        lambda j, x: j.np.stack([_pair(j, each) for each in _products(x)], axis=0),
        VECTOR,
        domains=(COMPLEX_FACTORS,),
        also_saves=(0,),
    ),
    _op(
        "complex_norm",
        f"torch.linalg.vector_norm({FIRST})",
        lambda j, x: j.np.sqrt(j.np.sum(x * x)),
        domains=(COMPLEX_NONZERO,),
    ),
    _op("ifft", pairs(f"torch.fft.ifft({FIRST})"), _ifft, ranked(2), domains=(SQUARABLE,), also_saves=(0,)),
)
