"""How a tool that knows only PyTorch is put before a faulty framework.

The tool's function is the mutant's `apply`, its tensors are the mutant's leaves, and while it runs,
`torch.autograd.grad`, `torch.autograd.backward` and `Tensor.backward` are the mutant's calls. Nothing that is wrong
in a mutant and that the tool could see through its normal interface is hidden from it. Two things are added to mutants
so that the tools can be themselves: a cotangent that requires grad, which gradgradcheck hands over, is taken as it is
(a cotangent that does not is handed over as an array, as the suite's runner does it); and an op may be called as a
function of the tool's own, so that the mutant's fault is in PyTorch's own samples as it is in ours.
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
"""The attribute that holds a tool's own function, to be called in the place of an op's code."""

_GRAD, _BACKWARD, _METHOD = torch.autograd.grad, torch.autograd.backward, torch.Tensor.backward


@lru_cache(maxsize=None)
def with_tensor_cotangents(mutant: type[TorchEager]) -> type[TorchEager]:
    """The mutant with cotangents that may require grad."""

    def cotangents(self: TorchEager, given: Sequence[Any]) -> list[torch.Tensor | None]:
        return [c if c is None or isinstance(c, torch.Tensor) else torch.tensor(c) for c in given]

    def give_back(self: TorchEager, arrays: Sequence[Any], given: Sequence[torch.Tensor | None]) -> None:
        """A tool's own tensors are no copies."""

    own = {"_cotangents": cotangents, "_give_back": give_back, "__module__": mutant.__module__}
    return type(mutant.__name__, (mutant,), own)


@contextmanager
def substituted(mutant: TorchEager) -> Iterator[None]:
    """Within, PyTorch's calls are the mutant's."""

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
    """PyTorch's own calls, for the mutant to make use of."""
    place = torch.autograd
    return _patched((place, "grad", _GRAD), (place, "backward", _BACKWARD), (torch.Tensor, "backward", _METHOD))


def _several(tensors: Any) -> list[torch.Tensor]:
    return [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)


def _given(cotangents: Any, count: int) -> list[Any]:
    """Cotangents as a mutant takes them: arrays where they require no grad."""
    several = [None] * count if cotangents is None else _several(cotangents)
    return [c if c is None or c.requires_grad else np.array(c.detach().numpy()) for c in several]
