"""Devices as PyTorch knows them: which dtypes one has, and which memory a tensor on it lies in."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

import torch

from autograd_conformance.frameworks.environment.devices import Device


def open_device(device: Device) -> torch.device:
    """PyTorch's own device; the module that brings it is imported before."""
    if device.module is not None:
        importlib.import_module(device.module)
    return torch.device(device.name)


def dtypes_of(device: torch.device, names: Sequence[str]) -> tuple[str, ...]:
    """Those of some dtypes that a device has; raises what it says of the last one where it has none."""
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
    """Where a tensor's storage begins; where its device gives no address, which storage it is."""
    storage = value.untyped_storage()
    return storage.data_ptr() or storage._cdata
