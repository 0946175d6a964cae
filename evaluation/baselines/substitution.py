"""Runs a tool that knows only PyTorch on a faulty framework.

The tool's function is the mutant's `apply`, and its tensors are the mutant's leaves. While the tool runs,
`torch.autograd.grad`, `torch.autograd.backward` and `Tensor.backward` are the mutant's methods, so that every fault
that the tool could detect through its normal interface is there. Two things are added to mutants for the tools. A
cotangent that requires grad, which gradgradcheck passes, is used as it is; any other cotangent is passed as an array,
as by the suite's runner. And an op may be called with a function of the tool, so that the mutant's fault also affects
PyTorch's own samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from autograd_conformance.frameworks.pytorch.eager import TorchEager
from autograd_conformance.programs.language import Attrs

OWN = "own function"
"""The attribute with a tool's own function, which is called instead of the op's code."""

_GRAD, _BACKWARD, _METHOD = torch.autograd.grad, torch.autograd.backward, torch.Tensor.backward


@lru_cache(maxsize=None)
def with_tensor_cotangents(mutant: type[TorchEager]) -> type[TorchEager]:
    """The mutant as a class that accepts tensors as cotangents, which may require grad."""

    def cotangents(self: TorchEager, given: Sequence[Any]) -> list[torch.Tensor | None]:
        return [c if c is None or isinstance(c, torch.Tensor) else torch.tensor(c) for c in given]

    def give_back(self: TorchEager, arrays: Sequence[Any], given: Sequence[torch.Tensor | None]) -> None:
        """Do nothing: a tool's tensors are not copies."""

    own = {"_cotangents": cotangents, "_give_back": give_back, "__module__": mutant.__module__}
    return type(mutant.__name__, (mutant,), own)


@contextmanager
def substituted(mutant: TorchEager) -> Iterator[None]:
    """Replace PyTorch's calls for gradients by the mutant's inside the block."""

    def grad(
        outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None,
        create_graph: bool = False, is_grads_batched: bool = False, allow_unused: bool | None = None,
        materialize_grads: bool = False,
    ) -> Any:  # fmt: skip
        assert not is_grads_batched
        roots, into = _several(outputs), _several(inputs)
        with _original():
            given = _given(grad_outputs, len(roots))
            return tuple(mutant.grad(roots, into, given, retain_graph, create_graph, allow_unused, materialize_grads))

    def backward(
        tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
        inputs: Any = None,
    ) -> None:  # fmt: skip
        roots = _several(tensors)
        options = {"create_graph": True} if create_graph else {}
        with _original():
            mutant.backward(roots, _given(grad_tensors, len(roots)), retain_graph, **options)

    def method(self: torch.Tensor, gradient: Any = None, *options: Any, **named: Any) -> None:
        backward(self, gradient, *options, **named)

    def apply(self: TorchEager, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        own = dict(attrs).get(OWN)
        made = own(*operands) if callable(own) else _APPLY(self, op, operands, attrs)
        return (made,) if isinstance(made, torch.Tensor) else made

    patches = (
        (torch.autograd, "grad", grad),
        (torch.autograd, "backward", backward),
        (torch.Tensor, "backward", method),
    )
    mutant.reset()
    with _patched(*patches, (TorchEager, "apply", apply)):
        yield


_APPLY = TorchEager.apply


@contextmanager
def _patched(*patches: tuple[Any, str, Callable[..., Any]]) -> Iterator[None]:
    kept = [getattr(place, name) for place, name, _ in patches]
    for place, name, new in patches:
        setattr(place, name, new)
    try:
        yield
    finally:
        for (place, name, _), old in zip(patches, kept, strict=True):
            setattr(place, name, old)


def _original() -> Any:
    """A block in which PyTorch's own calls are restored, for the mutant to use."""
    place = torch.autograd
    return _patched((place, "grad", _GRAD), (place, "backward", _BACKWARD), (torch.Tensor, "backward", _METHOD))


def _several(tensors: Any) -> list[torch.Tensor]:
    return [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)


def _given(cotangents: Any, count: int) -> list[Any]:
    """Cotangents as a mutant takes them: as arrays unless they require grad."""
    several = [None] * count if cotangents is None else _several(cotangents)
    return [c if c is None or c.requires_grad else np.array(c.detach().numpy()) for c in several]
