"""Elementwise ops of several operands, which broadcast, and comparisons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from examples.device.registry import kernel

BINARY = {
    "atan2.out": np.arctan2, "copysign.out": np.copysign, "fmax.out": np.fmax, "fmin.out": np.fmin,
    "hypot.out": np.hypot, "logaddexp.out": np.logaddexp, "logaddexp2.out": np.logaddexp2, "maximum.out": np.maximum,
    "minimum.out": np.minimum, "mul.out": np.multiply, "remainder.Tensor_out": np.remainder,
    "special_xlog1py.out": special.xlog1py, "xlogy.OutTensor": special.xlogy,
}  # fmt: skip
"""Functions of two numbers, by PyTorch's names."""

COMPARED = {
    "eq": np.equal, "ge": np.greater_equal, "gt": np.greater, "le": np.less_equal, "lt": np.less, "ne": np.not_equal,
}  # fmt: skip
LOGICAL = {
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
}  # fmt: skip

for name, function in BINARY.items():
    kernel(name)(function)
for name, function in COMPARED.items():
    kernel(f"{name}.Tensor_out", f"{name}.Scalar_out")(function)
for name, function in LOGICAL.items():
    kernel(f"{name}.Tensor_out")(function)
kernel("logical_and.out")(np.logical_and)
kernel("logical_or.out")(np.logical_or)
kernel("where.self")(np.where)


def scaled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel of a function of one operand and `alpha` times the other."""
    return lambda x, y, *, alpha=1: function(x, y if alpha == 1 else np.multiply(y, alpha))


kernel("add.out")(scaled(np.add))
kernel("sub.out")(scaled(np.subtract))


@kernel("div.out", "div.out_mode")
def div(x: Any, y: Any, *, rounding_mode: str | None = None) -> Any:
    """The quotient, rounded if a rounding mode is given."""
    match rounding_mode:
        case "floor":
            return np.floor_divide(x, y)
        case "trunc":
            return np.trunc(np.divide(x, y))
        case _:
            return np.divide(x, y)


@kernel("lerp.Scalar_out", "lerp.Tensor_out")
def lerp(x: np.ndarray, y: np.ndarray, weight: Any) -> np.ndarray:
    """Linear interpolation, computed from the nearer end."""
    weight = np.asarray(weight, x.dtype)
    return np.where(np.abs(weight) < 0.5, x + weight * (y - x), y - (y - x) * (1 - weight))


@kernel("addcmul.out")
def addcmul(x: np.ndarray, y: np.ndarray, z: np.ndarray, *, value: float = 1) -> np.ndarray:
    """A sum with a scaled product."""
    return x + np.asarray(value, x.dtype) * y * z


@kernel("addcdiv.out")
def addcdiv(x: np.ndarray, y: np.ndarray, z: np.ndarray, *, value: float = 1) -> np.ndarray:
    """A sum with a scaled quotient."""
    return x + np.asarray(value, x.dtype) * y / z


@kernel("masked_fill_.Scalar", "masked_fill_.Tensor")
def masked_fill(x: np.ndarray, mask: np.ndarray, value: Any) -> np.ndarray:
    """A number in place of the elements that the mask selects."""
    return np.where(mask, np.asarray(value, x.dtype), x)
