"""Memory of the device: NumPy arrays of bytes, each kept by the storage that PyTorch's tensors share.

A storage's pointer is that of its array's first byte, and the array lives as long as the storage does. Everything that
PyTorch computes from storages (which tensors are views of which, what overlaps) is thus true of this device.
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
"""The dtypes that the device has."""

OF_ARRAYS = {array: dtype for dtype, array in DTYPES.items()}
"""PyTorch's names of them."""

METADATA = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
"""Kernels that change sizes and strides alone are PyTorch's own: those of the CPU look at no memory."""

aten = torch.ops.aten


def contiguous(size: Sequence[int]) -> list[int]:
    """The strides, in elements, of a tensor that is laid out row by row."""
    return [prod(max(length, 1) for length in size[at + 1 :]) for at in range(len(size))]


def allocated(count: int) -> np.ndarray:
    """So many bytes of new memory, all zeros."""
    return np.zeros(max(1, count), np.uint8)


def place(tensor: torch.Tensor, size: Sequence[int], strides: Sequence[int]) -> torch.Tensor:
    """Give a tensor new memory, all zeros, for a size and strides."""
    last = sum((length - 1) * stride for length, stride in zip(size, strides, strict=True))
    count = 1 + last if all(size) else 0
    memory = allocated(count * tensor.element_size())
    storage = torch._C._construct_storage_from_data_pointer(memory.ctypes.data, DEVICE, count * tensor.element_size())
    storage.memory = memory  # a storage keeps its attributes as long as any tensor has it
    return aten.set_.source_Storage_storage_offset.redispatch(METADATA, tensor, storage, 0, size, strides)


def empty(size: Sequence[int], strides: Sequence[int], dtype: torch.dtype | None) -> torch.Tensor:
    """A tensor with memory of its own."""
    chosen = dtype or torch.get_default_dtype()
    if chosen not in DTYPES:
        raise TypeError(f"the device 'example' has no {chosen}")
    return place(torch._C._acc.create_empty_tensor([0], chosen), size, strides)


def array(tensor: torch.Tensor) -> np.ndarray:
    """A tensor's elements, of this device or of the CPU, in their own memory: writing to the array is writing to the
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
