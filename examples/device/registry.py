"""How a function of arrays becomes a kernel: PyTorch's schema of an op says which arguments the kernel writes to.

A kernel of an op that writes (`add.out`, `relu_`) returns what is to be written; that of any other op returns new
values. PyTorch derives most of what it calls from one kernel of an op: `add` and `add_` allocate by `add.out`, and
derivatives are computed by further ops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from examples.device import memory

LIBRARY = torch.library.Library("aten", "IMPL", "PrivateUse1")
"""The kernels of the device."""


def kernel(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function of arrays the kernel of some ops of PyTorch."""

    def register(compute: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            LIBRARY.impl(name, on_tensors(name, compute))
        return compute

    return register


def on_tensors(name: str, compute: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel of an op of PyTorch: `compute`, given arrays, and what it returns, written or made tensors."""
    schema = _schema(name)
    written = [each for each in schema.arguments if each.alias_info is not None and each.alias_info.is_write]
    results = frozenset(each.name for each in written if each.kwarg_only)
    first = bool(written) and not results
    tensors = schema.returns[0].type.isSubtypeOf(torch.TensorType.get())

    def run(*args: Any, **kwargs: Any) -> Any:
        given = {name: value for name, value in kwargs.items() if name not in results}
        with np.errstate(all="ignore"):
            made = compute(*map(arrays, args), **{name: arrays(value) for name, value in given.items()})
        if not written:
            if not tensors:
                return made
            return tuple(map(_made, made)) if isinstance(made, tuple) else _made(made)
        targets = [args[0]] if first else [kwargs[each.name] for each in written]
        for target, values in zip(targets, made if isinstance(made, tuple) else (made,), strict=True):
            write(target, np.asarray(values))
        return tuple(targets) if len(targets) > 1 else targets[0]

    return run


def _schema(name: str) -> torch.FunctionSchema:
    packet, _, overload = name.partition(".")
    return getattr(getattr(memory.aten, packet), overload or "default")._schema


def arrays(value: Any) -> Any:
    """An argument of a kernel: arrays for tensors."""
    if isinstance(value, torch.Tensor):
        return memory.array(value)
    if isinstance(value, (list, tuple)) and any(isinstance(each, torch.Tensor) for each in value):
        return [arrays(each) for each in value]
    return value


def _made(values: Any) -> torch.Tensor:
    return memory.tensor(np.asarray(values))


def write(target: torch.Tensor, values: np.ndarray) -> None:
    """Let a tensor hold what a kernel computed for it."""
    if tuple(target.size()) != values.shape and target.numel() == 0:  # an op hands over an empty tensor for its result
        target.resize_(values.shape)
    memory.array(target)[...] = values
