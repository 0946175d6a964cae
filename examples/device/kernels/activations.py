"""Activation functions and their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from examples.device.registry import kernel


@kernel("relu", "relu_")
def relu(x: np.ndarray) -> np.ndarray:
    """Zero in place of negative elements."""
    return np.where(x < 0, np.zeros_like(x), x)


@kernel("threshold.out")
def threshold(x: np.ndarray, bound: float, value: float) -> np.ndarray:
    """A number in place of every element that is not above a bound."""
    return np.where(x <= bound, np.asarray(value, x.dtype), x)


@kernel("threshold_backward.grad_input")
def threshold_backward(grad: np.ndarray, x: np.ndarray, bound: float) -> np.ndarray:
    """Gradient of `relu` or `threshold` with respect to its operand."""
    return np.where(x <= bound, np.zeros_like(grad), grad)


@kernel("leaky_relu.out")
def leaky_relu(x: np.ndarray, slope: float = 0.01) -> np.ndarray:
    """Negative elements times `slope`."""
    return np.where(x > 0, x, x * np.asarray(slope, x.dtype))


@kernel("leaky_relu_backward.grad_input")
def leaky_relu_backward(grad: np.ndarray, x: np.ndarray, slope: float, of_result: bool) -> np.ndarray:
    """Gradient of `leaky_relu` with respect to its operand."""
    return np.where(x > 0, grad, grad * np.asarray(slope, x.dtype))


@kernel("_prelu_kernel")
def prelu(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Negative elements times a learned weight."""
    return np.where(x > 0, x, weight * x)


@kernel("_prelu_kernel_backward")
def prelu_backward(grad: np.ndarray, x: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradient of `prelu` with respect to its operand."""
    return np.where(x > 0, grad, weight * grad), np.where(x > 0, np.zeros_like(grad), x * grad)


@kernel("elu.out")
def elu(x: np.ndarray, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> np.ndarray:
    """Negative elements mapped by an exponential."""
    return np.where(x > 0, x * scale, np.expm1(x * input_scale) * (alpha * scale)).astype(x.dtype)


@kernel("elu_backward.grad_input")
def elu_backward(
    grad: np.ndarray, alpha: float, scale: float, input_scale: float, of_result: bool, x: np.ndarray
) -> np.ndarray:
    """Gradient of `elu` with respect to its operand, computed from the operand or from the result."""
    slope = x + alpha * scale if of_result else np.exp(x * input_scale) * (alpha * scale)
    return np.where(x <= 0, grad * input_scale * slope, grad * scale)


@kernel("silu.out")
def silu(x: np.ndarray) -> np.ndarray:
    """An element times its sigmoid."""
    return x * special.expit(x)


@kernel("silu_backward.grad_input")
def silu_backward(grad: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Gradient of `silu` with respect to its operand."""
    gate = special.expit(x)
    return grad * gate * (1 + x * (1 - gate))


@kernel("mish.out")
def mish(x: np.ndarray) -> np.ndarray:
    """An element times the tanh of its softplus."""
    return x * np.tanh(np.logaddexp(0, x))


@kernel("mish_backward")
def mish_backward(grad: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Gradient of `mish` with respect to its operand."""
    curve = np.tanh(np.logaddexp(0, x))
    return grad * (curve + x * special.expit(x) * (1 - curve * curve))


@kernel("softplus.out")
def softplus(x: np.ndarray, beta: float = 1, bound: float = 20) -> np.ndarray:
    """A smooth `relu`."""
    return np.where(x * beta > bound, x, np.log1p(np.exp(x * beta)) / beta).astype(x.dtype)


@kernel("softplus_backward.grad_input")
def softplus_backward(grad: np.ndarray, x: np.ndarray, beta: float, bound: float) -> np.ndarray:
    """Gradient of `softplus` with respect to its operand."""
    return np.where(x * beta > bound, grad, grad * special.expit(x * beta))


@kernel("hardtanh", "hardtanh_")
def hardtanh(x: np.ndarray, low: float = -1, high: float = 1) -> np.ndarray:
    """Elements clipped to bounds."""
    return np.clip(x, low, high)


@kernel("hardtanh_backward")
def hardtanh_backward(grad: np.ndarray, x: np.ndarray, low: float, high: float) -> np.ndarray:
    """Gradient of `hardtanh` with respect to its operand."""
    return np.where((x <= low) | (x >= high), np.zeros_like(grad), grad)


@kernel("hardsigmoid.out")
def hardsigmoid(x: np.ndarray) -> np.ndarray:
    """A piecewise linear sigmoid."""
    return np.clip(x + 3, 0, 6) / 6


@kernel("hardsigmoid_backward.grad_input")
def hardsigmoid_backward(grad: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Gradient of `hardsigmoid` with respect to its operand."""
    return np.where((x > -3) & (x < 3), grad / 6, 0)


@kernel("hardswish", "hardswish_")
def hardswish(x: np.ndarray) -> np.ndarray:
    """An element times its `hardsigmoid`."""
    return x * hardsigmoid(x)


@kernel("hardswish_backward")
def hardswish_backward(grad: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Gradient of `hardswish` with respect to its operand."""
    return np.where(x <= -3, 0, np.where(x < 3, grad * (x / 3 + 0.5), grad)).astype(x.dtype)


@kernel("softshrink.out")
def softshrink(x: np.ndarray, bound: float = 0.5) -> np.ndarray:
    """Elements moved towards zero by the bound."""
    return np.where(x > bound, x - bound, np.where(x < -bound, x + bound, 0 * x)).astype(x.dtype)


@kernel("hardshrink.out")
def hardshrink(x: np.ndarray, bound: float = 0.5) -> np.ndarray:
    """Zero in place of elements within the bound."""
    return np.where((x >= -bound) & (x <= bound), 0, x).astype(x.dtype)


@kernel("softshrink_backward.grad_input", "hardshrink_backward.grad_input")
def shrink_backward(grad: np.ndarray, x: np.ndarray, bound: float) -> np.ndarray:
    """Gradient of `softshrink` or `hardshrink` with respect to its operand."""
    return np.where((x >= -bound) & (x <= bound), np.zeros_like(grad), grad)


@kernel("glu.out")
def glu(x: np.ndarray, dim: int = -1) -> np.ndarray:
    """The first half times the sigmoid of the second half."""
    value, gate = np.split(x, 2, dim)
    return value * special.expit(gate)


@kernel("glu_backward")
def glu_backward(grad: np.ndarray, x: np.ndarray, dim: int) -> np.ndarray:
    """Gradient of `glu` with respect to its operand."""
    value, gate = np.split(x, 2, dim)
    open_ = special.expit(gate)
    return np.concatenate([grad * open_, grad * value * open_ * (1 - open_)], dim)


@kernel("gelu.out")
def gelu(x: np.ndarray, *, approximate: str = "none") -> np.ndarray:
    """An element times the cumulative distribution of a standard Gaussian."""
    return x * _distribution(x, approximate)[0]


@kernel("gelu_backward.grad_input")
def gelu_backward(grad: np.ndarray, x: np.ndarray, *, approximate: str = "none") -> np.ndarray:
    """Gradient of `gelu` with respect to its operand."""
    value, slope = _distribution(x, approximate)
    return grad * (value + x * slope)


def _distribution(x: np.ndarray, approximate: str) -> tuple[np.ndarray, np.ndarray]:
    """The cumulative distribution of a standard Gaussian, exact or approximated by tanh, and its derivative."""
    if approximate == "none":
        return special.ndtr(x), np.exp(-x * x / 2) / np.asarray(np.sqrt(2 * np.pi), x.dtype)
    root, cubed = np.asarray(np.sqrt(2 / np.pi), x.dtype), np.asarray(0.044715, x.dtype)
    curve = np.tanh(root * (x + cubed * x**3))
    return (1 + curve) / 2, (1 - curve * curve) / 2 * root * (1 + 3 * cubed * x * x)


@kernel("_softmax.out")
def softmax(x: np.ndarray, dim: int, half_to_float: bool) -> np.ndarray:
    """Exponentials divided by their sum."""
    return special.softmax(x, dim) if x.size else x


@kernel("_log_softmax.out")
def log_softmax(x: np.ndarray, dim: int, half_to_float: bool) -> np.ndarray:
    """The logarithm of `softmax`."""
    return special.log_softmax(x, dim) if x.size else x


@kernel("_softmax_backward_data.out")
def softmax_backward(grad: np.ndarray, made: np.ndarray, dim: int, dtype: Any) -> np.ndarray:
    """Gradient of `softmax` with respect to its operand."""
    along = dim if made.ndim else None
    return made * (grad - (grad * made).sum(along, keepdims=True))


@kernel("_log_softmax_backward_data.out")
def log_softmax_backward(grad: np.ndarray, made: np.ndarray, dim: int, dtype: Any) -> np.ndarray:
    """Gradient of `log_softmax` with respect to its operand."""
    along = dim if made.ndim else None
    return grad - np.exp(made) * grad.sum(along, keepdims=True)
