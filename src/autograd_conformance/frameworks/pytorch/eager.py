"""PyTorch in eager mode: each instruction is one call of its public interface."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from autograd_conformance.frameworks.environment.devices import Device
from autograd_conformance.frameworks.pytorch import autocast
from autograd_conformance.frameworks.pytorch.devices import dtypes_of, open_device, storage_of
from autograd_conformance.frameworks.torchlike.code import Code
from autograd_conformance.frameworks.torchlike.dialect import PRELUDE, dialect
from autograd_conformance.frameworks.torchlike.errors import MESSAGES
from autograd_conformance.frameworks.torchlike.interface import TorchInterface
from autograd_conformance.ops.catalogue import APPLIED
from autograd_conformance.ops.modules import MODULES
from autograd_conformance.ops.optimizers import OPTIMIZERS
from autograd_conformance.ops.random import RANDOM_OPS
from autograd_conformance.printing.dialect import Dialect
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import CAST_MODES
from autograd_conformance.programs.observations import Kind


class _Generator:
    """PyTorch's random number generators, as Hypothesis needs them. Hypothesis seeds them before each program.

    `torch.manual_seed` records a stack trace for each kind of device that is not in use, which took a fifth of a small
    program's time. On the CPU, only the CPU's generator is seeded.
    """

    getstate = staticmethod(torch.get_rng_state)
    setstate = staticmethod(torch.set_rng_state)

    def __init__(self, seed: Callable[[int], object]) -> None:
        self.seed = seed


ON_CPU, ON_ANY = _Generator(torch.default_generator.manual_seed), _Generator(torch.manual_seed)


class TorchEager(TorchInterface):
    """PyTorch 2 in eager mode on one device, which may be provided by another package's module."""

    name = "torch"
    version = torch.__version__
    capabilities = frozenset(Capability) - {Capability.COUNTS_SAVED}
    ops = APPLIED
    dtypes: tuple[str, ...] = ("float64", "float32", "float16", "bfloat16")
    dialect: Dialect
    optimizers = {name: tuple(dict(row.defaults)) for name, row in OPTIMIZERS.items()}
    modules = (*MODULES, *RANDOM_OPS)
    autocast = autocast.AUTOCAST
    variables: tuple[str, ...] = ("ATEN_", "MKL_", "OMP_", "PYTORCH_", "TORCH")
    code = Code(torch, torch.nn.functional)

    def __init__(self, device: str = "cpu") -> None:
        super().__init__()
        self.torch = torch
        torch.set_num_threads(1)  # small tensors need no thread pool, and workers share the cores
        named = Device.named(device)
        self.requested_device, self.device = device, open_device(named)
        self.dtypes = dtypes_of(self.device, type(self).dtypes)
        self.random = ON_CPU if self.device.type == "cpu" else ON_ANY
        further = [f"import {named.module}"] if named.module else []
        if self.device.type != "cpu":  # other devices have other lists
            self.capabilities = self.capabilities - {Capability.AUTOCAST}
        if self.device.type == "cuda":
            torch.backends.cudnn.allow_tf32 = False  # by default, float32 has three digits in convolutions and cells
            further.append("torch.backends.cudnn.allow_tf32 = False")
        shown = dialect(str(self.device), "\n".join((PRELUDE, *further)))
        self.dialect = replace(shown, modes={**shown.modes, **autocast.CODE})
        self.usual = torch.get_default_dtype()

    def tensor(self, data: np.ndarray, requires_grad: bool = False) -> torch.Tensor:
        """Returns a tensor on the device, with the array's dtype."""
        if data.dtype.kind == "V":  # bfloat16, of which PyTorch reads no array
            numbers, dtype = data.astype(np.float32), torch.bfloat16
            return torch.tensor(numbers, dtype=dtype, device=self.device, requires_grad=requires_grad)
        return torch.tensor(data, device=self.device, requires_grad=requires_grad)

    def gradient(self, leaf: torch.Tensor) -> torch.Tensor | None:
        """Returns the `.grad` of a leaf or of another value."""
        try:
            plain = leaf.retains_grad or leaf.is_leaf
        except RuntimeError:  # PyTorch raises for a view that was made under no_grad, if its base was written to
            plain = False
        if plain:
            return leaf.grad
        with warnings.catch_warnings(action="ignore"):  # PyTorch advises to call retain_grad, but this only reads
            return leaf.grad

    def identity(self, gradient: torch.Tensor) -> int:
        """Returns the address of a gradient's memory. Two gradients with the same memory count as one object.

        Some derivatives are tensors of zeros without memory; Python's `id` identifies these.
        """
        if gradient._is_zerotensor():
            return id(gradient)
        return gradient.data_ptr() or (storage_of(gradient) if gradient.numel() else 0)

    def mode(self, name: str) -> AbstractContextManager[Any]:
        """Returns the context manager of a grad mode or of a cast mode."""
        return autocast.context(name) if name in CAST_MODES else super().mode(name)

    def elements(self, value: torch.Tensor) -> np.ndarray:
        """Returns the elements as an array, which may share the tensor's memory."""
        if value._is_zerotensor():  # NumPy would read invalid memory of a view of one
            value = value.clone()
        if value.dtype is torch.bfloat16:  # NumPy has no such dtype
            value = value.detach().float()
        return value.numpy(force=True)

    def dtype(self, value: torch.Tensor) -> str:
        """Returns the name of the dtype."""
        return _DTYPES.get(value.dtype) or super().dtype(value)

    def memory(self, value: torch.Tensor) -> int | None:
        """Returns the address of the storage."""
        return storage_of(value) if value.numel() and not value._is_zerotensor() else None

    def classify(self, error: BaseException) -> Kind:
        """Classify an error by its message. On devices other than the CPU, the dispatcher may report a missing
        kernel.
        """
        if not isinstance(error, (RuntimeError, ValueError)):
            return Kind.UNKNOWN
        text = str(error)
        absent = isinstance(error, NotImplementedError) and self.device.type != "cpu"
        return next((kind for part, kind in MESSAGES if part in text), Kind.NO_KERNEL if absent else Kind.UNKNOWN)


_DTYPES = {getattr(torch, name): name for name in TorchEager.dtypes}
