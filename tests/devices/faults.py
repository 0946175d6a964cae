"""Faulty devices: the example's, with one fault each, put in place of its kernels or of its memory for a while.

A device is known to PyTorch once in a process, so a fault comes and goes: `faulty` puts it there inside a `with` block.
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
    """PyTorch on the example device, as it is, with the usual ops alone."""

    ops = Mutant.ops.intersection(CORE)
    modules = ()
    capabilities = Mutant.capabilities - {Capability.HOOKS, Capability.ACCUMULATED_HOOKS}
    """A hook that raises ends the process, by PyTorch's own fault: see `test_example`."""
    optimizers = {**Mutant.optimizers, "sgd": ("lr", "momentum", "weight_decay")}
    """With `nesterov`, PyTorch itself adds to the gradients on every device that it takes `foreach` for."""
    kernels: ClassVar[Mapping[str, Function]] = {}
    """The kernels that are others here: functions of tensors, by PyTorch's names of the ops."""
    key: ClassVar[str] = "PrivateUse1"
    """The dispatch key that they stand under."""
    patches: ClassVar[Mapping[tuple[Any, str], Function]] = {}
    """The functions of the device's own code that are others here, by where they stand."""

    def __init__(self, device: str = DEVICE) -> None:
        super().__init__(DEVICE)

    @classmethod
    @contextmanager
    def faulty(cls) -> Iterator[None]:
        """The device has the fault inside of a `with` block."""
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
    """Kernels made of functions of arrays; a name's dot is written as two underscores."""
    names = {name: name.replace("__", ".") for name in kernels}
    return {names[name]: registry.on_tensors(names[name], compute) for name, compute in kernels.items()}


# -- kernels ----------------------------------------------------------------------------------------------------------


def _overwriting(x: torch.Tensor, y: torch.Tensor, *, alpha: float = 1, out: torch.Tensor) -> torch.Tensor:
    added = memory.array(y) * alpha
    registry.write(out, np.broadcast_to(added, out.shape) if out is x else memory.array(x) + added)
    return out


class Overwrites(OnExample):
    """What is added in place takes the place of what was there, and so does a gradient that is accumulated."""

    killed_by = ("accumulation/adds", "accumulation/in-place")
    kernels = {"add.out": _overwriting}


def _alias(x: torch.Tensor, *, memory_format: torch.memory_format | None = None) -> torch.Tensor:
    if memory_format is torch.contiguous_format and not x.is_contiguous():
        return memory.tensor(memory.array(x))
    return x.as_strided(x.size(), x.stride(), x.storage_offset())


class CopiesAlias(OnExample):
    """A clone is a view: it shares its memory with what it was made of."""

    killed_by = ("optimizers/remembers",)
    kernels = {"clone": _alias}


def _uncounted(op: Any) -> Function:
    def run(*args: Any, **kwargs: Any) -> Any:
        with torch._C._AutoDispatchBelowADInplaceOrView():
            return op(*args, **kwargs)

    return run


class Uncounted(OnExample):
    """In-place kernels stand where autograd's own do: they record nothing, and bump no version counter."""

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
    """A sum that keeps its dimensions, as those of broadcast operands' gradients do, leaves the last slice out."""

    killed_by = ("gradients/op", "gradients/forward", "gradients/graph")
    kernels = computed(sum__IntList_out=_short)


class LosesFactor(OnExample):
    """What the sigmoid passes back lacks a factor."""

    killed_by = ("gradients/op", "gradients/graph")
    kernels = computed(sigmoid_backward__grad_input=lambda grad, made: grad * made)


class ClearsNothing(OnExample):
    """Zeros are not written: what is there stays."""

    killed_by = ("accumulation/zero-to-zeros", "writes/value")
    kernels = {"zero_": lambda x: x}


class KeepsCopies(OnExample):
    """What was copied to the host once is not copied again, though it was written since."""

    killed_by = ("accumulation/adds", "writes/value")
    kept: ClassVar[dict[Any, tuple[Any, np.ndarray]]] = {}

    def reset(self) -> None:
        """A new program: nothing is kept."""
        super().reset()
        self.kept.clear()

    @staticmethod
    def copy(source: torch.Tensor, target: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
        """A copy, kept together with the memory that it is of, which nobody else gets as long as it is kept."""
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
    """Kernels read what is transposed as if it lay row by row."""

    killed_by = ("gradients/op", "gradients/forward", "gradients/graph")
    patches = {(memory, "array"): _unstrided}


def _elsewhere(target: torch.Tensor, values: np.ndarray) -> None:
    shifted = target.storage_offset() and target.shape == values.shape
    _write(target.as_strided(target.size(), target.stride(), 0) if shifted else target, values)


class WritesElsewhere(OnExample):
    """In-place kernels write to the beginning of the storage, wherever in it the target lies."""

    killed_by = ("writes/value", "writes/aliases")
    patches = {(registry, "write"): _elsewhere}


class Single(OnExample):
    """Kernels compute in float32, whatever the dtype of their results."""

    killed_by = ("gradients/op", "gradients/forward", "gradients/graph")
    patches = {(registry, "write"): lambda target, values: _write(target, np.float32(values))}


class CopiesViews(OnExample):
    """A reshaped tensor has memory of its own where it could be a view."""

    killed_by = ("views/shares", "writes/aliases", "writes/error-or-recorded", "detach/keeps-source")
    kernels = {"view": lambda x, size: memory.tensor(memory.array(x).reshape(tuple(size)))}


class Unsynchronised(OnExample):
    """Kernels write their results when the next one begins, and a copy to the host does not wait for them."""

    killed_by = ("gradients/op", "gradients/forward", "gradients/graph")
    queue: ClassVar[list[tuple[torch.Tensor, np.ndarray]]] = []

    def reset(self) -> None:
        """A new program: nothing is under way."""
        super().reset()
        self.queue.clear()

    @staticmethod
    def begin(value: Any) -> Any:
        """An argument of a kernel, once all is written that was under way."""
        while Unsynchronised.queue:
            _write(*Unsynchronised.queue.pop(0))
        return _arrays(value)

    @staticmethod
    def later(target: torch.Tensor, values: np.ndarray) -> None:
        """Have a result written by whoever begins next."""
        if target.shape != values.shape:
            target.resize_(np.broadcast_shapes(target.shape, values.shape) if target.numel() else values.shape)
        Unsynchronised.queue.append((target, values.copy()))

    patches = {(registry, "arrays"): begin, (registry, "write"): later}


class Recycles(OnExample):
    """Memory is handed out again after so many more allocations of its size, in use or not."""

    killed_by = ("views/own-memory", "gradients/graph", "gradients/forward")
    count: ClassVar[int] = 6
    handed: ClassVar[dict[int, list[np.ndarray]]] = {}

    def reset(self) -> None:
        """A new program: all memory is free."""
        super().reset()
        self.handed.clear()

    @staticmethod
    def allocated(count: int) -> np.ndarray:
        """Memory, all zeros: new, or that which was handed out long ago."""
        handed = Recycles.handed.setdefault(count, [])
        made = handed.pop(0) if len(handed) >= Recycles.count else _allocated(count)
        made[...] = 0
        handed.append(made)
        return made

    patches = {(memory, "allocated"): allocated}


FAULTS = tuple(each for each in OnExample.__subclasses__() if each.killed_by)
"""All of them."""


class Few(OnExample):
    """PyTorch on the example device with a few ops, one of which the device has no kernel of."""

    ops = frozenset({"sin", "square", "sum", "cummax"})
