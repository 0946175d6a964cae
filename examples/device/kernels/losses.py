"""Losses that PyTorch does not compose from other ops, and their derivatives."""

from __future__ import annotations

import numpy as np

from examples.device.registry import kernel

NONE, MEAN, SUM = range(3)
"""PyTorch's numbers for the reductions of a loss."""


def reduced(x: np.ndarray, reduction: int) -> np.ndarray:
    """The elements of a loss, their mean or their sum, by the reduction."""
    return x.mean() if reduction == MEAN else x.sum() if reduction == SUM else x


def spread(grad: np.ndarray, slope: np.ndarray, reduction: int) -> np.ndarray:
    """Gradient of a reduced loss, from the slope of each element."""
    return grad * slope / (slope.size if reduction == MEAN else 1)


@kernel("mse_loss.out")
def mse_loss(x: np.ndarray, target: np.ndarray, reduction: int = MEAN) -> np.ndarray:
    """Squared differences."""
    return reduced((x - target) ** 2, reduction)


@kernel("mse_loss_backward")
def mse_loss_backward(grad: np.ndarray, x: np.ndarray, target: np.ndarray, reduction: int) -> np.ndarray:
    """Gradient of `mse_loss` with respect to its operand."""
    return spread(grad, 2 * (x - target), reduction)


@kernel("smooth_l1_loss.out")
def smooth_l1_loss(x: np.ndarray, target: np.ndarray, reduction: int = MEAN, beta: float = 1) -> np.ndarray:
    """Absolute differences, quadratic below `beta`."""
    size = np.abs(x - target)
    near = size**2 / (2 * beta) if beta else size
    return reduced(np.where(size < beta, near, size - beta / 2), reduction)


@kernel("smooth_l1_loss_backward.grad_input")
def smooth_l1_loss_backward(
    grad: np.ndarray, x: np.ndarray, target: np.ndarray, reduction: int, beta: float
) -> np.ndarray:
    """Gradient of `smooth_l1_loss` with respect to its operand."""
    apart = x - target
    return spread(grad, np.where(np.abs(apart) < beta, apart / (beta or 1), np.sign(apart)), reduction)


@kernel("huber_loss")
def huber_loss(x: np.ndarray, target: np.ndarray, reduction: int = MEAN, delta: float = 1) -> np.ndarray:
    """Half the squared difference below `delta`, linear above."""
    size = np.abs(x - target)
    return reduced(np.where(size < delta, size**2 / 2, delta * (size - delta / 2)), reduction)


@kernel("huber_loss_backward.out")
def huber_loss_backward(
    grad: np.ndarray, x: np.ndarray, target: np.ndarray, reduction: int, delta: float
) -> np.ndarray:
    """Gradient of `huber_loss` with respect to its operand."""
    return spread(grad, np.clip(x - target, -delta, delta), reduction)


@kernel("binary_cross_entropy")
def binary_cross_entropy(
    x: np.ndarray, target: np.ndarray, weight: np.ndarray | None = None, reduction: int = MEAN
) -> np.ndarray:
    """Binary cross entropy; logarithms are clipped at -100."""
    logs = (np.maximum(np.log(each), -100) for each in (x, 1 - x))
    yes, no = logs
    return reduced(-(target * yes + (1 - target) * no) * (1 if weight is None else weight), reduction)


@kernel("binary_cross_entropy_backward")
def binary_cross_entropy_backward(
    grad: np.ndarray, x: np.ndarray, target: np.ndarray, weight: np.ndarray | None = None, reduction: int = MEAN
) -> np.ndarray:
    """Gradient of `binary_cross_entropy` with respect to its operand."""
    slope = (x - target) / np.maximum(x * (1 - x), 1e-12)
    return spread(grad, slope * (1 if weight is None else weight), reduction)


@kernel("nll_loss_forward.output")
def nll_loss(
    x: np.ndarray, target: np.ndarray, weight: np.ndarray | None, reduction: int, ignored: int
) -> tuple[np.ndarray, np.ndarray]:
    """Negative log likelihood of the target classes, and the total weight of these classes."""
    factors = _factors(x, target, weight, ignored)
    picked = np.where(factors == 0, 0, -_of_targets(x, target, ignored) * factors)
    total = factors.sum()
    if reduction == NONE:
        return picked.astype(x.dtype), np.zeros((), x.dtype)
    return picked.sum() / (total if reduction == MEAN else 1), total


@kernel("nll_loss_backward.grad_input")
def nll_loss_backward(
    grad: np.ndarray, x: np.ndarray, target: np.ndarray, weight: np.ndarray | None, reduction: int, ignored: int,
    total: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Gradient of `nll_loss` with respect to its operand."""
    made = np.zeros_like(x)
    share = -grad * _factors(x, target, weight, ignored) / (total if reduction == MEAN else 1)
    np.put_along_axis(made, _classes(target, ignored), np.broadcast_to(share, target.shape)[..., None], -1)
    return made


def _classes(target: np.ndarray, ignored: int) -> np.ndarray:
    return np.where(target == ignored, 0, target)[..., None]


def _of_targets(x: np.ndarray, target: np.ndarray, ignored: int) -> np.ndarray:
    return np.take_along_axis(x, _classes(target, ignored), -1)[..., 0]


def _factors(x: np.ndarray, target: np.ndarray, weight: np.ndarray | None, ignored: int) -> np.ndarray:
    """Weight of each row; 0 for ignored classes."""
    classes = _classes(target, ignored)[..., 0]
    weights = np.ones(x.shape[-1], x.dtype) if weight is None else weight
    return np.where(target == ignored, 0, weights[classes]).astype(x.dtype)
