"""A module with PyTorch's interface, which lacks some names: PyTorch, with a few things taken away or broken."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import torch

__version__ = "3.1"

LACKS = ("tan", "block_diag", "set_default_dtype", "func")


class Sgd(torch.optim.SGD):
    """An optimizer without the setting `foreach`."""

    def __init__(self, params: Any, lr: float = 0.1, momentum: float = 0.0) -> None:
        super().__init__(params, lr=lr, momentum=momentum)


class AdamW(torch.optim.AdamW):
    """An optimizer without decay, unless a program gives one."""

    def __init__(self, params: Any, lr: float = 0.1, weight_decay: float = 0.0, **settings: Any) -> None:
        super().__init__(params, lr=lr, weight_decay=weight_decay, **settings)


class Adagrad(torch.optim.Adagrad):
    """An optimizer of modules' parameters alone."""

    def __init__(self, params: Any, lr: float = 0.1, **settings: Any) -> None:
        raise TypeError("Optimizer params must be Parameter instances")


class _Part(ModuleType):
    """A part of PyTorch with some names replaced."""

    def __init__(self, name: str, part: ModuleType, **replaced: Any) -> None:
        super().__init__(name)
        self._part, self._replaced = part, replaced
        sys.modules[name] = self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name, name=name, obj=self)
        return self._replaced.get(name) or getattr(self._part, name)


optim = _Part(f"{__name__}.optim", torch.optim, SGD=Sgd, AdamW=AdamW, Adagrad=Adagrad)
autograd = _Part(f"{__name__}.autograd", torch.autograd)


def batch_norm(x: torch.Tensor, running_mean: Any, *rest: Any, **settings: Any) -> torch.Tensor:
    """Takes no None."""
    running_mean.shape  # noqa: B018
    return torch.nn.functional.batch_norm(x, running_mean, *rest, **settings)


def glu(x: torch.Tensor, dim: int) -> torch.Tensor:
    """Takes up to three dimensions."""
    if x.ndim > 3:
        raise ValueError("glu expects input of shape (batch, features) or (batch, features, length)")
    return torch.nn.functional.glu(x, dim)


_functional = _Part(f"{__name__}.nn.functional", torch.nn.functional, batch_norm=batch_norm, glu=glu)
_utils = _Part(f"{__name__}.nn.utils", torch.nn.utils)
nn = _Part(f"{__name__}.nn", torch.nn, functional=_functional, utils=_utils)


def cos(x: torch.Tensor) -> torch.Tensor:
    """Refuses, as frameworks do that have the name alone."""
    raise NotImplementedError("cos is not implemented for this device")


def trace(x: torch.Tensor) -> torch.Tensor:
    """Has PyTorch's name and another meaning."""
    return x()  # type: ignore[operator]


def sinh(x: torch.Tensor) -> torch.Tensor:
    """Fails by a fault of this code."""
    return None.sinh()  # type: ignore[attr-defined]


class _Asinh(torch.autograd.Function):
    """A derivative that fails by a fault of this code."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return torch.asinh(x)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return torch.ones(2, colour="red")  # type: ignore[call-overload]


def asinh(x: torch.Tensor) -> torch.Tensor:
    """Has a derivative that calls PyTorch with a keyword that is not there."""
    return _Asinh.apply(x)  # type: ignore[no-untyped-call]


def cosh(x: torch.Tensor) -> Any:
    """Returns a method in the place of a tensor."""
    return x.cosh


def exp(x: torch.Tensor) -> torch.Tensor:
    """Returns a wrong value."""
    return torch.exp(x) + 1


def logsumexp(x: torch.Tensor, dim: int) -> torch.Tensor:
    """Lacks a keyword."""
    return torch.logsumexp(x, dim)


def amax(x: torch.Tensor, axis: Any, keepdims: bool = False) -> torch.Tensor:
    """Has NumPy's names of the keywords."""
    return torch.amax(x, axis, keepdims)


def var(x: torch.Tensor, axis: Any = None) -> torch.Tensor:
    """Lacks two keywords, and has NumPy's name of the third."""
    return torch.var(x, axis)


def hypot(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Does not broadcast."""
    if a.shape != b.shape:
        raise ValueError(f"Shape mismatch: {tuple(a.shape)} vs {tuple(b.shape)}")
    return torch.hypot(a, b)


def maximum(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Broadcasts in part: not a tensor of one dimension."""
    if a.dim() != b.dim() and 1 in (a.dim(), b.dim()):
        raise ValueError("Shape mismatch")
    return torch.maximum(a, b)


def __getattr__(name: str) -> Any:
    if name in LACKS or name.startswith("__"):  # with PyTorch's `__path__`, its parts could be imported from here
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    return getattr(torch, name)
