"""Activation functions, with domains that keep operands away from kinks of the function and of its first derivative."""

from __future__ import annotations

from math import pi, sqrt

from autograd_conformance.ops.rows.domains import ANY, MODERATE, SQUARABLE, off, strictly
from autograd_conformance.ops.rows.row import Certainty, Op, table
from autograd_conformance.ops.rows.shapes import dims, offer, shaped
from autograd_conformance.programs.language import Shape

ALWAYS = Certainty.ALWAYS

SELU_ALPHA, SELU_SCALE = (1.6732632423543772848170429916717, 1.0507009873554804934193349852946)


def _where(j, x, above, below):
    return j.np.where(x > 0, above, below)


def _elu(j, x, alpha):
    return _where(j, x, x, alpha * j.np.expm1(j.np.where(x > 0, 0.0, x)))


def _celu(j, x, alpha):
    return _where(j, x, x, alpha * j.np.expm1(j.np.where(x > 0, 0.0, x) / alpha))


def _softplus(j, x):
    return j.np.log1p(j.np.exp(x))


def _clip(j, x, low, high):
    return j.np.where(x < low, low, j.np.where(x > high, high, x))


def _outside(j, x, width):
    return j.np.abs(x) > width


def _prelu(j, x, weight):
    by_channel = j.np.reshape(weight, (-1, *(1,) * (x.ndim - 2))) if x.ndim > 1 else j.np.reshape(weight, (1,) * x.ndim)
    return _where(j, x, x, by_channel * x)


def _weights(first: Shape) -> list[tuple[Shape, ...]]:
    return [((1,),), *([((first[1],),)] if len(first) > 1 and first[1] > 1 else [])]


def _halves(j, x, dim):
    n = x.shape[dim] // 2
    return j.lax.slice_in_dim(x, 0, n, axis=dim % x.ndim), j.lax.slice_in_dim(x, n, 2 * n, axis=dim % x.ndim)


def _glu(j, x, dim):
    a, b = _halves(j, x, dim)
    return a * j.nn.sigmoid(b)


def _op(name: str, torch: str, reference, *domains, **more) -> Op:
    return Op(name, torch, reference, ALWAYS, domains=domains or (ANY,), **more)


ACTIVATIONS = table(
    "activations",
    _op("relu", "F.relu({0})", lambda j, x: _where(j, x, x, 0.0), off(0.0)),
    _op("relu6", "F.relu6({0})", lambda j, x: _clip(j, x, 0.0, 6.0), off(0.0, 6.0)),
    _op(
        "leaky_relu",
        "F.leaky_relu({0}, negative_slope={slope})",
        lambda j, x, slope: _where(j, x, x, slope * x),
        off(0.0),
        choices=offer(slope=(0.01, 0.25)),
    ),
    _op("rrelu", "F.rrelu({0})", lambda j, x: _where(j, x, x, (1 / 8 + 1 / 3) / 2 * x), off(0.0)),
    _op("prelu", "F.prelu({0}, {1})", _prelu, off(0.0), ANY, rest=_weights, also_saves=(1,)),  # in one backward op
    _op("elu", "F.elu({0}, alpha={alpha})", _elu, off(0.0), choices=offer(alpha=(1.0, 0.5))),
    _op("celu", "F.celu({0}, alpha={alpha})", _celu, off(0.0), choices=offer(alpha=(1.0, 0.5))),
    _op("selu", "F.selu({0})", lambda j, x: SELU_SCALE * _elu(j, x, SELU_ALPHA), off(0.0)),
    _op("gelu", "F.gelu({0})", lambda j, x: 0.5 * x * (1 + j.sp.erf(x / sqrt(2)))),
    _op(
        "gelu_tanh",
        "F.gelu({0}, approximate='tanh')",
        lambda j, x: 0.5 * x * (1 + j.np.tanh(sqrt(2 / pi) * (x + 0.044715 * x * x * x))),
        MODERATE,
    ),
    _op("silu", "F.silu({0})", lambda j, x: x * j.nn.sigmoid(x)),
    _op("mish", "F.mish({0})", lambda j, x: x * j.np.tanh(_softplus(j, x)), MODERATE),
    _op(
        "softplus",
        "F.softplus({0}, beta={beta})",
        lambda j, x, beta: _softplus(j, beta * x) / beta,
        strictly(MODERATE),  # from beta * x = 20 on, the documented function is the identity
        choices=offer(beta=(1, 0.5)),
    ),
    _op("logsigmoid", "F.logsigmoid({0})", lambda j, x: -_softplus(j, -x), MODERATE),
    _op("softsign", "F.softsign({0})", lambda j, x: x / (1 + j.np.abs(x)), off(0.0)),
    _op("tanhshrink", "F.tanhshrink({0})", lambda j, x: x - j.np.tanh(x)),
    _op(
        "softshrink",
        "F.softshrink({0}, lambd={lambd})",
        lambda j, x, lambd: j.np.where(_outside(j, x, lambd), x - lambd * j.np.sign(x), 0.0),
        off(-0.5, 0.5),
        choices=offer(lambd=(0.5,)),
    ),
    _op(
        "hardshrink",
        "F.hardshrink({0}, lambd={lambd})",
        lambda j, x, lambd: j.np.where(_outside(j, x, lambd), x, 0.0),
        off(-0.5, 0.5),
        choices=offer(lambd=(0.5,)),
    ),
    _op("hardtanh", "F.hardtanh({0})", lambda j, x: _clip(j, x, -1.0, 1.0), off(-1.0, 1.0)),
    _op("hardsigmoid", "F.hardsigmoid({0})", lambda j, x: _clip(j, x / 6 + 0.5, 0.0, 1.0), off(-3.0, 3.0)),
    _op("hardswish", "F.hardswish({0})", lambda j, x: x * _clip(j, x / 6 + 0.5, 0.0, 1.0), off(-3.0, 3.0)),
    _op(
        "threshold",
        "F.threshold({0}, {threshold}, {value})",
        lambda j, x, threshold, value: j.np.where(x > threshold, x, value),
        off(1.0),
        choices=offer(threshold=(1.0,), value=(0.5, -2.0)),
    ),
    _op(
        "glu",
        "F.glu({0}, dim={dim})",
        _glu,
        SQUARABLE,
        choices=lambda shape: [c for c in dims(shape, low=2) if shape[c["dim"]] % 2 == 0],
        **shaped(lambda shape: any(n and n % 2 == 0 for n in shape)),
    ),
)
