"""Elementwise ops of one operand: arithmetic with Python scalars, exponentials, trigonometry, powers, casts and steps.

The derivative of rounding and of the sign is zero wherever it exists; zero gradients must arrive, too.
"""

from __future__ import annotations

from math import log, pi

from autograd_conformance.ops.rows.domains import (
    ABOVE_MINUS_ONE,
    ABOVE_ONE,
    MODERATE,
    NONZERO,
    POSITIVE,
    POWERS,
    PROBABILITY,
    SMALL,
    SQUARABLE,
    TANGENT,
    UNIT,
    Domain,
    off,
    off_steps,
    strictly,
)
from autograd_conformance.ops.rows.row import Certainty, Op, table
from autograd_conformance.ops.rows.shapes import offer

ALWAYS, MAYBE, NEVER = Certainty.ALWAYS, Certainty.MAYBE, Certainty.NEVER

SCALARS = offer(scalar=(2.0, -0.5, 3))
BOUNDS = ({"min": -1.0, "max": 1.0}, {"min": None, "max": 1.0}, {"min": -1.0, "max": None})


def _power(j, x, exponent):
    return j.np.exp(exponent * j.np.log(x))


def _log_ndtr(j, x):
    """The logarithm of the normal distribution function, for numbers of at most 10 in magnitude. JAX's own is off by
    4e-9 below -20.
    """
    above = j.np.log1p(-j.sp.erfc(j.np.abs(x) / 2**0.5) / 2)
    return j.np.where(x > 0, above, j.np.log(j.sp.erfc(-x / 2**0.5) / 2))


def _bessel(j, x, order):
    """The modified Bessel function of the first kind, of order 0 or 1, by its power series. It is accurate to float64's
    rounding for numbers of at most 10 in magnitude.
    """
    quarter, total = x * x / 4, 0.0
    for k in range(40, -1, -1):
        total = 1.0 + total * quarter / ((k + 1) * (k + 1 + order))
    return total * x / 2 if order else total


def _scaled_bessel(j, x, order):
    return _bessel(j, x, order) * j.np.exp(-j.np.abs(x))


BESSEL = Domain(
    "within 4, off zero", lambda x: SMALL.holds(x) and off(0.0).holds(x), lambda x: SMALL.fit(off(0.0).fit(x))
)

ARITHMETIC = (
    Op("negative", "-{0}", lambda j, x: -x, NEVER),
    Op("add_scalar", "{0} + {scalar}", lambda j, x, scalar: x + scalar, NEVER, choices=SCALARS),
    Op("subtract_scalar", "{0} - {scalar}", lambda j, x, scalar: x - scalar, NEVER, choices=SCALARS),
    Op("scalar_subtract", "{scalar} - {0}", lambda j, x, scalar: scalar - x, NEVER, choices=SCALARS),
    Op("multiply_scalar", "{0} * {scalar}", lambda j, x, scalar: x * scalar, MAYBE, choices=SCALARS),
    Op("divide_scalar", "{0} / {scalar}", lambda j, x, scalar: x / scalar, MAYBE, choices=SCALARS),
    Op("scalar_divide", "{scalar} / {0}", lambda j, x, scalar: scalar / x, ALWAYS, choices=SCALARS, domains=(NONZERO,)),
    Op("reciprocal", "torch.reciprocal({0})", lambda j, x: 1 / x, ALWAYS, domains=(NONZERO,)),
    Op("square", "torch.square({0})", lambda j, x: x * x, ALWAYS, domains=(SQUARABLE,)),
    Op("sqrt", "torch.sqrt({0})", lambda j, x: j.np.sqrt(x), ALWAYS, domains=(POSITIVE,)),
    Op("rsqrt", "torch.rsqrt({0})", lambda j, x: 1 / j.np.sqrt(x), ALWAYS, domains=(POSITIVE,)),
    Op(
        "pow_scalar",
        "{0} ** {exponent}",
        _power,
        ALWAYS,
        choices=offer(exponent=(1.5, 0.5, -1, -2.5)),
        domains=(POWERS,),
    ),
    Op(
        "pow_integer",
        "{0} ** {exponent}",
        lambda j, x, exponent: j.lax.integer_pow(x, exponent),
        ALWAYS,
        choices=offer(exponent=(2, 3)),
        domains=(MODERATE,),
    ),
    Op(
        "scalar_pow",
        "{base} ** {0}",
        lambda j, x, base: j.np.exp(x * log(base)),
        ALWAYS,
        choices=offer(base=(2.0, 0.5, 3)),
        domains=(SMALL,),
    ),
    Op(
        "float_power_scalar",
        "torch.float_power({0}, {exponent})",
        _power,
        ALWAYS,
        choices=offer(exponent=(1.5, -2.5)),
        domains=(POWERS,),
        dtype="float64",
    ),
    Op("abs", "torch.abs({0})", lambda j, x: j.np.abs(x), ALWAYS, domains=(off(0.0),)),
    Op(
        "clip",
        "torch.clamp({0}, {min}, {max})",
        lambda j, x, min, max: j.np.clip(x, min, max),
        ALWAYS,
        choices=lambda shape: BOUNDS,
        domains=(off(-1.0, 1.0),),
    ),
)

EXPONENTIALS = (
    Op("exp", "torch.exp({0})", lambda j, x: j.np.exp(x), ALWAYS, domains=(SMALL,)),
    Op("exp2", "torch.exp2({0})", lambda j, x: j.np.exp(x * log(2)), ALWAYS, domains=(SMALL,)),
    Op("expm1", "torch.expm1({0})", lambda j, x: j.np.expm1(x), ALWAYS, domains=(SMALL,)),
    Op("log", "torch.log({0})", lambda j, x: j.np.log(x), ALWAYS, domains=(POSITIVE,)),
    Op("log2", "torch.log2({0})", lambda j, x: j.np.log(x) / log(2), ALWAYS, domains=(POSITIVE,)),
    Op("log10", "torch.log10({0})", lambda j, x: j.np.log(x) / log(10), ALWAYS, domains=(POSITIVE,)),
    Op("log1p", "torch.log1p({0})", lambda j, x: j.np.log1p(x), ALWAYS, domains=(ABOVE_MINUS_ONE,)),
    Op("sigmoid", "torch.sigmoid({0})", lambda j, x: j.nn.sigmoid(x), ALWAYS),
    Op("logit", "torch.logit({0})", lambda j, x: j.np.log(x) - j.np.log1p(-x), ALWAYS, domains=(PROBABILITY,)),
)

TRIGONOMETRY = (
    Op("sin", "torch.sin({0})", lambda j, x: j.np.sin(x), ALWAYS),
    Op("cos", "torch.cos({0})", lambda j, x: j.np.cos(x), ALWAYS),
    Op("tan", "torch.tan({0})", lambda j, x: j.np.sin(x) / j.np.cos(x), ALWAYS, domains=(TANGENT,)),
    Op("asin", "torch.asin({0})", lambda j, x: j.np.arcsin(x), ALWAYS, domains=(UNIT,)),
    Op("acos", "torch.acos({0})", lambda j, x: pi / 2 - j.np.arcsin(x), ALWAYS, domains=(UNIT,)),
    Op("atan", "torch.atan({0})", lambda j, x: j.np.arctan(x), ALWAYS),
    Op("sinh", "torch.sinh({0})", lambda j, x: j.np.sinh(x), ALWAYS, domains=(SMALL,)),
    Op("cosh", "torch.cosh({0})", lambda j, x: j.np.cosh(x), ALWAYS, domains=(SMALL,)),
    Op("tanh", "torch.tanh({0})", lambda j, x: j.np.tanh(x), ALWAYS),
    Op("asinh", "torch.asinh({0})", lambda j, x: j.np.arcsinh(x), ALWAYS),
    Op("acosh", "torch.acosh({0})", lambda j, x: j.np.arccosh(x), ALWAYS, domains=(ABOVE_ONE,)),
    Op("atanh", "torch.atanh({0})", lambda j, x: j.np.arctanh(x), ALWAYS, domains=(UNIT,)),
    Op("sinc", "torch.sinc({0})", lambda j, x: j.np.sin(pi * x) / (pi * x), ALWAYS, domains=(NONZERO,)),
    Op("deg2rad", "torch.deg2rad({0})", lambda j, x: x * (pi / 180), MAYBE),
    Op("nan_to_num", "torch.nan_to_num({0})", lambda j, x: x, MAYBE, also_saves=(0,)),
)

SPECIAL = (
    Op("erf", "torch.erf({0})", lambda j, x: j.sp.erf(x), ALWAYS),
    Op("erfc", "torch.erfc({0})", lambda j, x: j.sp.erfc(x), ALWAYS),
    Op("erfinv", "torch.erfinv({0})", lambda j, x: j.sp.erfinv(x), ALWAYS, domains=(UNIT,)),
    Op("lgamma", "torch.lgamma({0})", lambda j, x: j.sp.gammaln(x), ALWAYS, domains=(POSITIVE,)),
    Op("digamma", "torch.digamma({0})", lambda j, x: j.sp.digamma(x), ALWAYS, domains=(POSITIVE,)),
    Op(
        "polygamma",
        "torch.polygamma({n}, {0})",
        lambda j, x, n: j.sp.polygamma(n, x),
        ALWAYS,
        choices=offer(n=(1, 2)),
        domains=(POSITIVE,),
    ),
    Op(
        "mvlgamma",
        "torch.mvlgamma({0}, {p})",
        lambda j, x, p: p * (p - 1) / 4 * log(pi) + sum(j.sp.gammaln(x - k / 2) for k in range(p)),
        ALWAYS,
        choices=offer(p=(2, 3)),
        domains=(ABOVE_ONE,),
    ),
    Op("entr", "torch.special.entr({0})", lambda j, x: -x * j.np.log(x), ALWAYS, domains=(POSITIVE,)),
    Op("ndtr", "torch.special.ndtr({0})", lambda j, x: j.sp.erfc(-x / 2**0.5) / 2, ALWAYS, domains=(SMALL,)),
    Op("log_ndtr", "torch.special.log_ndtr({0})", _log_ndtr, ALWAYS, domains=(strictly(SMALL),)),
    Op("ndtri", "torch.special.ndtri({0})", lambda j, x: j.sp.ndtri(x), ALWAYS, domains=(PROBABILITY,)),
    Op("erfcx", "torch.special.erfcx({0})", lambda j, x: j.np.exp(x * x) * j.sp.erfc(x), ALWAYS, domains=(SMALL,)),
    Op("i0", "torch.special.i0({0})", lambda j, x: _bessel(j, x, 0), ALWAYS, domains=(strictly(SMALL),)),
    Op("i0e", "torch.special.i0e({0})", lambda j, x: _scaled_bessel(j, x, 0), ALWAYS, domains=(BESSEL,)),
    Op("i1e", "torch.special.i1e({0})", lambda j, x: _scaled_bessel(j, x, 1), ALWAYS, domains=(BESSEL,)),
    Op("i1", "torch.special.i1({0})", lambda j, x: _bessel(j, x, 1), ALWAYS, domains=(strictly(SMALL),)),
)

STEPS = (
    Op("sign", "torch.sign({0})", lambda j, x: j.np.sign(x), NEVER, domains=(off(0.0),)),
    Op("floor", "torch.floor({0})", lambda j, x: j.np.floor(x), NEVER, domains=(off_steps(0.0),)),
    Op("ceil", "torch.ceil({0})", lambda j, x: j.np.ceil(x), NEVER, domains=(off_steps(0.0),)),
    Op("trunc", "torch.trunc({0})", lambda j, x: j.np.trunc(x), NEVER, domains=(off_steps(0.0),)),
    Op("round", "torch.round({0})", lambda j, x: j.np.floor(x + 0.5), NEVER, domains=(off_steps(0.5),)),
    Op(
        "frac",
        "torch.frac({0})",
        lambda j, x: x - j.np.sign(x) * j.np.floor(j.np.abs(x)),
        NEVER,
        domains=(off_steps(0.0),),
    ),
)

PERIODS = offer(scalar=(2.0, 3))

REMAINDERS = (
    Op(
        "remainder_scalar",
        "torch.remainder({0}, {scalar})",
        lambda j, x, scalar: x - j.np.floor(x / scalar) * scalar,
        NEVER,
        choices=PERIODS,
        domains=(off_steps(0.0),),
    ),
    Op(
        "fmod_scalar",
        "torch.fmod({0}, {scalar})",
        lambda j, x, scalar: x - j.np.trunc(x / scalar) * scalar,
        NEVER,
        choices=PERIODS,
        domains=(off_steps(0.0),),
    ),
)

# A cast is the identity on real numbers: the reference computes in float64 throughout, and bounds depend on dtypes.
# The code has copy=True because otherwise a cast to the operand's own dtype returns the operand itself.
CASTS = (
    Op("astype_float32", "{0}.to(torch.float32, copy=True)", lambda j, x: x, NEVER, dtype="float32"),
    Op("astype_float64", "{0}.to(torch.float64, copy=True)", lambda j, x: x, NEVER, dtype="float64"),
    Op("astype_float16", "{0}.to(torch.float16, copy=True)", lambda j, x: x, NEVER, dtype="float16"),
    Op("astype_bfloat16", "{0}.to(torch.bfloat16, copy=True)", lambda j, x: x, NEVER, dtype="bfloat16"),
)

ELEMENTWISE = table("elementwise", *ARITHMETIC, *EXPONENTIALS, *TRIGONOMETRY, *SPECIAL, *STEPS, *REMAINDERS, *CASTS)
