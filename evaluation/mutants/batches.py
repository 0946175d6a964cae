"""Mutants of batches: PyTorch under `torch.vmap` that mixes the members of a batch, or forgets one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from autograd_conformance.frameworks.pytorch.modes.batched import TorchPerSample, TorchReverseOverVmap, by_vmap
from evaluation.mutants.mutant import UNSOUND, Faulty, unsound


class PerSample(Faulty, TorchPerSample):
    """Gradients for each sample without the ops that they get wrong themselves. Subclasses change the function that
    takes the place of `torch.func.vjp`.
    """

    framework = "torch-per-sample"
    ops = TorchPerSample.ops - UNSOUND - unsound("torch-per-sample")


class HonestPerSample(PerSample):
    """Has no fault: every failure is a false alarm."""


def _as_first(x: torch.Tensor) -> torch.Tensor:
    """A value whose number is that of the first member of a batch, and whose gradient is its own."""
    return 0.99609375 * x.detach() + (x - x.detach())


def by_first_values(function: Callable[..., Any], *inputs: torch.Tensor) -> Callable[..., Any]:
    """Gradients at the numbers of the first member of the batch."""
    return by_vmap(function, *map(_as_first, inputs), shared=True)  # type: ignore[no-any-return]


def by_first_cotangent(function: Callable[..., Any], *inputs: torch.Tensor) -> Callable[..., Any]:
    """Gradients for the cotangents of the first member of the batch."""
    gradients = by_vmap(function, *inputs, shared=True)
    return lambda given: gradients(tuple(2 * c for c in given) if isinstance(given, tuple) else 2 * given)


def by_sum_of_shared(function: Callable[..., Any], *inputs: torch.Tensor) -> Callable[..., Any]:
    """Gradients that are summed over the batch where the members share an input."""
    gradients = by_vmap(function, *inputs, shared=True)

    def summed(given: Any) -> tuple[torch.Tensor, ...]:
        return tuple(3 * x if k % 2 else x for k, x in enumerate(gradients(given)))

    return summed


class ValuesOfFirstSample(PerSample):
    """The derivative of the second sample uses what the first one saved."""

    killed_by = ("gradients/op", "gradients/graph")
    pulled = staticmethod(by_first_values)


class CotangentOfFirstSample(PerSample):
    """The second sample gets the cotangent of the first one."""

    killed_by = ("gradients/op", "gradients/graph")
    pulled = staticmethod(by_first_cotangent)


class SharedInputSummed(PerSample):
    """The gradient of an input that samples share is the sum over the samples."""

    killed_by = ("gradients/op", "gradients/graph")
    pulled = staticmethod(by_sum_of_shared)


class OverVmap(Faulty, TorchReverseOverVmap):
    """Gradients of a batch without the ops that they get wrong themselves."""

    framework = "torch-reverse-over-vmap"
    ops = TorchReverseOverVmap.ops - UNSOUND - unsound("torch-reverse-over-vmap")


class HonestOverVmap(OverVmap):
    """Has no fault: every failure is a false alarm."""


def by_last_of_shared(function: Callable[..., Any], *inputs: torch.Tensor) -> Callable[..., Any]:
    """Gradients of a batch in which only the last member passes something on to an input that all share."""

    def several(*values: torch.Tensor) -> Any:
        still = [x.detach() if k % 2 else x for k, x in enumerate(values)]
        members = [function(*still), function(*values)]
        weighted = [0.25 * a + 0.75 * b for a, b in zip(*map(_listed, members), strict=True)]
        return tuple(weighted) if isinstance(members[0], tuple) else weighted[0]

    return torch.func.vjp(several, *inputs)[1]  # type: ignore[no-any-return]


def _listed(found: Any) -> tuple[torch.Tensor, ...]:
    return found if isinstance(found, tuple) else (found,)


class SharedInputOfLastMember(OverVmap):
    """An input that the members of a batch share gets the gradient of the last one alone, in place of the sum."""

    killed_by = ("gradients/op", "gradients/graph")
    pulled = staticmethod(by_last_of_shared)
