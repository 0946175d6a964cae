"""Allocation, copies to and from the device, views and resizing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from examples.device import memory
from examples.device.memory import aten
from examples.device.registry import LIBRARY, kernel


def _empty(size: Sequence[int], *, dtype: torch.dtype | None = None, **_: Any) -> torch.Tensor:
    return memory.empty(size, memory.contiguous(size), dtype)


def _empty_strided(
    size: Sequence[int], stride: Sequence[int], *, dtype: torch.dtype | None = None, **_: Any
) -> torch.Tensor:
    return memory.empty(size, stride, dtype)


def _resize(tensor: torch.Tensor, size: Sequence[int], *, memory_format: Any = None) -> torch.Tensor:
    return tensor if list(tensor.size()) == list(size) else memory.place(tensor, size, memory.contiguous(size))


def _copy_from(source: torch.Tensor, target: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    memory.array(target)[...] = memory.array(source)
    return target


def _on_metadata(op: Any) -> Any:
    """PyTorch's own kernel of an op that makes a view, for tensors of this device."""
    return lambda *args, **kwargs: op.redispatch(memory.METADATA, *args, **kwargs)


LIBRARY.impl("empty.memory_format", _empty)
LIBRARY.impl("empty_strided", _empty_strided)
LIBRARY.impl("_efficientzerotensor", _empty)  # new memory is all zeros
LIBRARY.impl("resize_", _resize)
LIBRARY.impl("_copy_from", _copy_from)
LIBRARY.impl("_copy_from_and_resize", lambda source, target: _copy_from(source, target.resize_(source.size())))
for view in (aten.as_strided, aten.view, aten._reshape_alias, aten.unfold):
    LIBRARY.impl(view.default.name(), _on_metadata(view.default))
LIBRARY.impl("set_.source_Storage_storage_offset", _on_metadata(aten.set_.source_Storage_storage_offset))


@kernel("_local_scalar_dense")
def item(x: np.ndarray) -> Any:
    """The only element, as a Python number."""
    return x.item()


@kernel("fill_.Scalar", "fill_.Tensor")
def fill(x: np.ndarray, value: Any) -> np.ndarray:
    """Write one number to all elements."""
    return np.full(x.shape, value, x.dtype)


@kernel("zero_")
def zero(x: np.ndarray) -> np.ndarray:
    """Write zero to all elements."""
    return np.zeros_like(x)
