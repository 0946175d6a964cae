"""Faulty devices: the example device with one fault each, which temporarily replaces its kernels or its memory.

PyTorch can register a device only once in a process, so the method `faulty` applies the fault inside a `with` block.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import prod
from typing import Any, ClassVar
from unittest import mock

import numpy as np
import torch

import examples.device  # noqa: F401 - it makes the device known to PyTorch
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.strategies.building.alphabet import CORE
from evaluation.mutants.mutant import Mutant
from examples.device import memory, registry
from examples.device.kernels import reductions

Function = Callable[..., Any]

DEVICE = "examples.device:example"


class OnExample(Mutant):
    """PyTorch on the example device, without a fault, with the usual ops only."""

    ops = Mutant.ops.intersection(CORE)
    modules = ()
    capabilities = Mutant.capabilities - {Capability.HOOKS, Capability.ACCUMULATED_HOOKS}
    """A hook that raises ends the process because of a bug in PyTorch; see `test_example`."""
    optimizers = {**Mutant.optimizers, "sgd": ("lr", "momentum", "weight_decay")}
    """With `nesterov`, PyTorch itself adds to the gradients on every device for which it uses `foreach`."""
    kernels: ClassVar[Mapping[str, Function]] = {}
    """Replaced kernels: functions of tensors, by PyTorch's names of the ops."""
    key: ClassVar[str] = "PrivateUse1"
    """Dispatch key under which the kernels are registered."""
    patches: ClassVar[Mapping[tuple[Any, str], Function]] = {}
    """Replaced functions of the device's own code, by the object that contains each and its name."""

    def __init__(self, device: str = DEVICE) -> None:
        super().__init__(DEVICE)

    @classmethod
    @contextmanager
    def faulty(cls) -> Iterator[None]:
        """Apply the fault inside a `with` block."""
        library = torch.library.Library("aten", "IMPL", cls.key)
        patches = [mock.patch.object(place, name, function) for (place, name), function in cls.patches.items()]
        with warnings.catch_warnings(action="ignore"):  # PyTorch's, that a kernel takes another one's place
            for name, function in cls.kernels.items():
                library.impl(name, function, allow_override=True)
        try:
            for patch in patches:
                patch.start()
            yield
        finally:
            for patch in reversed(patches):
                patch.stop()
            library._destroy()


def computed(**kernels: Function) -> dict[str, Function]:
    """Make kernels from functions of arrays. A keyword has two underscores in place of a dot."""
    names = {name: name.replace("__", ".") for name in kernels}
    return {names[name]: registry.on_tensors(names[name], compute) for name, compute in kernels.items()}


# -- kernels ----------------------------------------------------------------------------------------------------------


def _overwriting(x: torch.Tensor, y: torch.Tensor, *, alpha: float = 1, out: torch.Tensor) -> torch.Tensor:
    added = memory.array(y) * alpha
    registry.write(out, np.broadcast_to(added, out.shape) if out is x else memory.array(x) + added)
    return out


class Overwrites(OnExample):
    """In-place addition overwrites its target, and so does the accumulation of a gradient."""

    killed_by = ("accumulation/adds", "accumulation/in-place")
    kernels = {"add.out": _overwriting}


def _alias(x: torch.Tensor, *, memory_format: torch.memory_format | None = None) -> torch.Tensor:
    if memory_format is torch.contiguous_format and not x.is_contiguous():
        return memory.tensor(memory.array(x))
    return x.as_strided(x.size(), x.stride(), x.storage_offset())


class CopiesAlias(OnExample):
    """A clone is a view: it shares memory with its source."""

    killed_by = ("optimizers/remembers",)
    kernels = {"clone": _alias}


def _uncounted(op: Any) -> Function:
    def run(*args: Any, **kwargs: Any) -> Any:
        with torch._C._AutoDispatchBelowADInplaceOrView():
            return op(*args, **kwargs)

    return run


class Uncounted(OnExample):
    """In-place kernels replace those of autograd: they record nothing, and do not change the version counter."""

    killed_by = ("writes/error-or-recorded", "writes/recorded", "writes/leaf-raises")
    key = "AutogradPrivateUse1"
    kernels = {
        "zero_": _uncounted(memory.aten.zero_.default),
        "add_.Tensor": _uncounted(memory.aten.add_.Tensor),
        "mul_.Tensor": _uncounted(memory.aten.mul_.Tensor),
    }


def _short(x: np.ndarray, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> np.ndarray:
    if keepdim and dim and x.ndim and x.shape[dim[0]] > 1:
        x = np.delete(x, -1, dim[0])
    return reductions.total(x, dim, keepdim, dtype=dtype)


class ReducesShort(OnExample):
    """A sum that keeps its dimensions omits the last slice. The gradients of broadcast operands use such sums."""

    killed_by = ("gradients/op", "gradients/forward", "gradients/graph")
    kernels = computed(sum__IntList_out=_short)


class LosesFactor(OnExample):
    """The derivative of the sigmoid lacks a factor."""

    killed_by = ("gradients/op", "gradients/graph")
    kernels = computed(sigmoid_backward__grad_input=lambda grad, made: grad * made)


class ClearsNothing(OnExample):
    """Writing zeros has no effect."""

    killed_by = ("accumulation/zero-to-zeros", "writes/value")
    kernels = {"zero_": lambda x: x}


class KeepsCopies(OnExample):
    """A tensor is copied to the host only once, even if it is written to later."""

    killed_by = ("accumulation/adds", "writes/value")
    kept: ClassVar[dict[Any, tuple[Any, np.ndarray]]] = {}

    def reset(self) -> None:
        """Drop all copies before a program."""
        super().reset()
        self.kept.clear()

    @staticmethod
    def copy(source: torch.Tensor, target: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
        """Copy a tensor, and keep the copy with its source's memory, so that the memory is not reused."""
        values = memory.array(source)
        if target.device.type == "cpu":
            where = (source.data_ptr(), source.shape, source.stride(), source.dtype)
            values = KeepsCopies.kept.setdefault(where, (values.base, values.copy()))[1]
        memory.array(target)[...] = values
        return target

    kernels = {"_copy_from": copy}


# -- memory -----------------------------------------------------------------------------------------------------------

_array, _allocated, _write, _arrays = memory.array, memory.allocated, registry.write, registry.arrays


def _unstrided(tensor: torch.Tensor) -> np.ndarray:
    values = _array(tensor)
    strides = sorted(zip(tensor.stride(), tensor.shape, strict=True))
    dense = all(stride == prod(n for _, n in strides[:at]) for at, (stride, _) in enumerate(strides))
    if not dense or not isinstance(values.base, np.ndarray):
        return values
    return np.ndarray(values.shape, values.dtype, values.base, tensor.storage_offset() * values.itemsize)


class IgnoresStrides(OnExample):
    """Kernels read transposed tensors as if they were contiguous."""

    killed_by = ("gradients/op", "gradients/forward", "gradients/graph")
    patches = {(memory, "array"): _unstrided}


def _elsewhere(target: torch.Tensor, values: np.ndarray) -> None:
    shifted = target.storage_offset() and target.shape == values.shape
    _write(target.as_strided(target.size(), target.stride(), 0) if shifted else target, values)


class WritesElsewhere(OnExample):
    """In-place kernels write to the start of the storage, regardless of the target's offset."""

    killed_by = ("writes/value", "writes/aliases")
    patches = {(registry, "write"): _elsewhere}


class Single(OnExample):
    """Kernels compute in float32, whatever the dtype of their results."""

    killed_by = ("gradients/op", "gradients/forward", "gradients/graph")
    patches = {(registry, "write"): lambda target, values: _write(target, np.float32(values))}


class CopiesViews(OnExample):
    """A reshape copies its operand even if a view is possible."""

    killed_by = ("views/shares", "writes/aliases", "writes/error-or-recorded", "detach/keeps-source")
    kernels = {"view": lambda x, size: memory.tensor(memory.array(x).reshape(tuple(size)))}


class Unsynchronised(OnExample):
    """Kernels write their results when the next kernel starts, and a copy to the host does not wait for them."""

    killed_by = ("gradients/op", "gradients/forward", "gradients/graph")
    queue: ClassVar[list[tuple[torch.Tensor, np.ndarray]]] = []

    def reset(self) -> None:
        """Drop pending results before a program."""
        super().reset()
        self.queue.clear()

    @staticmethod
    def begin(value: Any) -> Any:
        """Write all pending results, and return the argument of a kernel."""
        while Unsynchronised.queue:
            _write(*Unsynchronised.queue.pop(0))
        return _arrays(value)

    @staticmethod
    def later(target: torch.Tensor, values: np.ndarray) -> None:
        """Delay the write of a result until the next kernel starts."""
        if target.shape != values.shape:
            target.resize_(np.broadcast_shapes(target.shape, values.shape) if target.numel() else values.shape)
        Unsynchronised.queue.append((target, values.copy()))

    patches = {(registry, "arrays"): begin, (registry, "write"): later}


class Recycles(OnExample):
    """Memory is reused after a number of further allocations of its size, even if it is in use."""

    killed_by = ("views/own-memory", "gradients/graph", "gradients/forward")
    count: ClassVar[int] = 6
    handed: ClassVar[dict[int, list[np.ndarray]]] = {}

    def reset(self) -> None:
        """Free all memory before a program."""
        super().reset()
        self.handed.clear()

    @staticmethod
    def allocated(count: int) -> np.ndarray:
        """Memory filled with zeros: new, or reused from an old allocation."""
        handed = Recycles.handed.setdefault(count, [])
        made = handed.pop(0) if len(handed) >= Recycles.count else _allocated(count)
        made[...] = 0
        handed.append(made)
        return made

    patches = {(memory, "allocated"): allocated}


FAULTS = tuple(each for each in OnExample.__subclasses__() if each.killed_by)
"""All faulty devices."""


class Few(OnExample):
    """PyTorch on the example device with a few ops; the device has no kernel for one of them."""

    ops = frozenset({"sin", "square", "sum", "cummax"})
