"""PyTorch devices: opening one, its dtypes, and the storage of its tensors."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

import torch

from autograd_conformance.frameworks.environment.devices import Device


def open_device(device: Device) -> torch.device:
    """Returns PyTorch's object for a device; imports the module that provides the device."""
    if device.module is not None:
        importlib.import_module(device.module)
    return torch.device(device.name)


def dtypes_of(device: torch.device, names: Sequence[str]) -> tuple[str, ...]:
    """Returns those of the given dtypes that a device supports. If the device supports none, raises PyTorch's error for
    the last one.
    """
    had: list[str] = []
    for name in names:
        try:
            torch.zeros(1, dtype=getattr(torch, name), device=device)
        except (RuntimeError, TypeError):  # "Cannot convert a MPS Tensor to float64 dtype": a TypeError
            if not had and name == names[-1]:
                raise
        else:
            had.append(name)
    return tuple(had)


def storage_of(value: torch.Tensor) -> int:
    """Returns the address of a tensor's storage; the address of the storage object if the device has no addresses."""
    storage = value.untyped_storage()
    return storage.data_ptr() or storage._cdata
