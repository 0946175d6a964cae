"""Memory of the device: NumPy arrays of bytes, each kept by the storage that PyTorch's tensors share.

A storage points to the first byte of its array, and the array lives as long as the storage. So PyTorch's own checks on
storages (which tensors are views of which, which overlap) are right for this device.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import torch

DEVICE = torch.device("example", 0)
"""The one device of its type."""

DTYPES = {
    torch.float64: np.dtype(np.float64),
    torch.float32: np.dtype(np.float32),
    torch.int64: np.dtype(np.int64),
    torch.int32: np.dtype(np.int32),
    torch.uint8: np.dtype(np.uint8),
    torch.bool: np.dtype(np.bool_),
}
"""The device's dtypes, and NumPy's of the same name."""

OF_ARRAYS = {array: dtype for dtype, array in DTYPES.items()}
"""PyTorch's dtype for each dtype of NumPy."""

METADATA = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
"""Dispatch keys of PyTorch's CPU kernels, used for ops that change sizes and strides only: they read no memory."""

aten = torch.ops.aten


def contiguous(size: Sequence[int]) -> list[int]:
    """The strides, in elements, of a contiguous tensor."""
    return [prod(max(length, 1) for length in size[at + 1 :]) for at in range(len(size))]


def allocated(count: int) -> np.ndarray:
    """`count` bytes of new memory, all zeros; at least one."""
    return np.zeros(max(1, count), np.uint8)


def place(tensor: torch.Tensor, size: Sequence[int], strides: Sequence[int]) -> torch.Tensor:
    """Give a tensor new memory, all zeros, with this size and these strides."""
    last = sum((length - 1) * stride for length, stride in zip(size, strides, strict=True))
    count = 1 + last if all(size) else 0
    memory = allocated(count * tensor.element_size())
    storage = torch._C._construct_storage_from_data_pointer(memory.ctypes.data, DEVICE, count * tensor.element_size())
    storage.memory = memory  # a storage keeps its attributes as long as any tensor has it
    return aten.set_.source_Storage_storage_offset.redispatch(METADATA, tensor, storage, 0, size, strides)


def empty(size: Sequence[int], strides: Sequence[int], dtype: torch.dtype | None) -> torch.Tensor:
    """A new tensor with new memory; raises TypeError for a dtype that the device does not have."""
    chosen = dtype or torch.get_default_dtype()
    if chosen not in DTYPES:
        raise TypeError(f"the device 'example' has no {chosen}")
    return place(torch._C._acc.create_empty_tensor([0], chosen), size, strides)


def array(tensor: torch.Tensor) -> np.ndarray:
    """A tensor of this device or of the CPU as an array that shares its memory: a write to the array changes the
    tensor.
    """
    if tensor.device.type != DEVICE.type:
        return tensor.detach().numpy()
    if not tensor.numel():  # its strides may lead anywhere
        return np.empty(tuple(tensor.size()), DTYPES[tensor.dtype])
    width = tensor.element_size()
    strides = [stride * width for stride in tensor.stride()]
    shape, kept = tuple(tensor.size()), tensor.untyped_storage().memory
    return np.ndarray(shape, DTYPES[tensor.dtype], kept, tensor.storage_offset() * width, strides)


def tensor(values: np.ndarray) -> torch.Tensor:
    """A new tensor that holds some values."""
    made = empty(values.shape, contiguous(values.shape), OF_ARRAYS[values.dtype])
    array(made)[...] = values
    return made
