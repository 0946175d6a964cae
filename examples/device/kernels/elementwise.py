"""Elementwise ops of one operand, and ops that compute derivatives of some of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from examples.device.registry import kernel

UNARY = {
    "abs": np.abs, "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan,
    "atanh": np.arctanh, "bitwise_not": np.invert, "ceil": np.ceil, "cos": np.cos, "cosh": np.cosh,
    "digamma": special.digamma, "erf": special.erf, "erfc": special.erfc, "erfinv": special.erfinv, "exp": np.exp,
    "exp2": np.exp2, "expm1": np.expm1, "floor": np.floor, "isinf": np.isinf, "lgamma": special.gammaln, "log": np.log,
    "log10": np.log10, "log1p": np.log1p, "log2": np.log2, "logical_not": np.logical_not, "neg": np.negative,
    "reciprocal": np.reciprocal, "round": np.round, "sigmoid": special.expit, "sgn": np.sign, "sign": np.sign,
    "sin": np.sin, "sinc": np.sinc, "sinh": np.sinh, "sqrt": np.sqrt, "tan": np.tan, "tanh": np.tanh,
    "trunc": np.trunc,
}  # fmt: skip
"""Functions of one number, by PyTorch's names."""

for name, function in UNARY.items():
    kernel(f"{name}.out")(function)

kernel("isnan")(np.isnan)
kernel("log_sigmoid_forward")(lambda x: (-np.logaddexp(0, -x), np.zeros(0, x.dtype)))
kernel("rsqrt.out")(lambda x: 1 / np.sqrt(x))
kernel("frac.out")(lambda x: x - np.trunc(x))


@kernel("polygamma.out")
def polygamma(n: int, x: np.ndarray) -> np.ndarray:
    """The `n`th derivative of `digamma`."""
    return special.polygamma(n, x)


@kernel("clamp.out")
def clamp(x: np.ndarray, low: float | None = None, high: float | None = None) -> np.ndarray:
    """Elements clipped to bounds."""
    return np.clip(x, low, high)


@kernel("clamp_min.out", "clamp_min.Tensor_out")
def clamp_min(x: np.ndarray, low: Any) -> np.ndarray:
    """Elements clipped from below."""
    return np.maximum(x, low)


@kernel("clamp_max.out")
def clamp_max(x: np.ndarray, high: float) -> np.ndarray:
    """Elements clipped from above."""
    return np.minimum(x, high)


@kernel("nan_to_num.out")
def nan_to_num(
    x: np.ndarray, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> np.ndarray:
    """Finite numbers in place of NaN and infinities."""
    return np.nan_to_num(x, nan=nan or 0.0, posinf=posinf, neginf=neginf)


@kernel("logit")
def logit(x: np.ndarray, eps: float | None = None) -> np.ndarray:
    """The inverse of `sigmoid`, of elements clipped to `eps` and 1 - `eps`."""
    return special.logit(x if eps is None else np.clip(x, eps, 1 - eps))


@kernel("logit_backward.grad_input")
def logit_backward(grad: np.ndarray, x: np.ndarray, eps: float | None = None) -> np.ndarray:
    """Gradient of `logit` with respect to its operand."""
    slope = grad / (x * (1 - x))
    if eps is None:
        return np.where((x < 0) | (x > 1), np.nan, slope)
    return np.where((x < eps) | (x > 1 - eps), 0, slope)


@kernel("tanh_backward.grad_input")
def tanh_backward(grad: np.ndarray, made: np.ndarray) -> np.ndarray:
    """Gradient of `tanh` with respect to its operand."""
    return grad * (1 - made * made)


@kernel("sigmoid_backward.grad_input")
def sigmoid_backward(grad: np.ndarray, made: np.ndarray) -> np.ndarray:
    """Gradient of `sigmoid` with respect to its operand."""
    return grad * (1 - made) * made


@kernel("log_sigmoid_backward")
def log_sigmoid_backward(grad: np.ndarray, x: np.ndarray, buffer: np.ndarray) -> np.ndarray:
    """Gradient of `logsigmoid` with respect to its operand."""
    return grad * special.expit(-x)


def power(x: Any, exponent: Any) -> Any:
    """A power; integer bases are computed as floats if the result is written into floats."""
    return np.power(x, exponent)


kernel("pow.Tensor_Scalar_out", "pow.Tensor_Tensor_out", "pow.Scalar_out")(power)
