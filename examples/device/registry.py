"""Registers functions of arrays as kernels; PyTorch's schema of an op states which arguments its kernel writes to.

The kernel of an op that writes (`add.out`, `relu_`) returns the values to write; the kernel of any other op returns new
values. One kernel often serves several ops: PyTorch implements `add` and `add_` by `add.out`, and derivatives by other
ops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from examples.device import memory

LIBRARY = torch.library.Library("aten", "IMPL", "PrivateUse1")
"""The library that the device's kernels are registered in."""


def kernel(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator that registers a function of arrays as the kernel of some ops of PyTorch."""

    def register(compute: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            LIBRARY.impl(name, on_tensors(name, compute))
        return compute

    return register


def on_tensors(name: str, compute: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel of an op: calls `compute` with arrays, and writes its results to tensors or makes tensors of them."""
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
    """An argument of a kernel with arrays in place of tensors."""
    if isinstance(value, torch.Tensor):
        return memory.array(value)
    if isinstance(value, (list, tuple)) and any(isinstance(each, torch.Tensor) for each in value):
        return [arrays(each) for each in value]
    return value


def _made(values: Any) -> torch.Tensor:
    return memory.tensor(np.asarray(values))


def write(target: torch.Tensor, values: np.ndarray) -> None:
    """Write a kernel's result to its tensor."""
    if tuple(target.size()) != values.shape and target.numel() == 0:  # an op hands over an empty tensor for its result
        target.resize_(values.shape)
    memory.array(target)[...] = values
