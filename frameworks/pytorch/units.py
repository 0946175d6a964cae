"""PyTorch's own modes that take a function as a unit: checkpointed, compiled."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

from autograd_conformance.frameworks.pytorch.eager import TorchEager
from autograd_conformance.programs.capabilities import Capability, Traits
from autograd_conformance.programs.language import Apply, Detach, InPlace, Program

Function = Callable[..., tuple[torch.Tensor, ...] | None]


class TorchUnits(TorchEager):
    """PyTorch whose computing instructions stand in functions; derived classes say how these are called."""

    inside = frozenset({Apply, Detach, InPlace})

    def cuts(self, program: Program) -> Collection[int]:
        """Nowhere."""
        return ()

    def unit(self, source: str, inputs: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        """The results of the function that `source` defines."""
        return self.called(_function(source, self.dialect.prelude), inputs) or ()

    def called(self, function: Function, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...] | None:
        """What a function gives, called as it is."""
        return function(*inputs)


@lru_cache(maxsize=4096)
def _function(source: str, prelude: str) -> Function:
    scope: dict[str, Any] = {}
    exec(prelude, scope)
    exec(source, scope)
    return scope["region"]


class TorchCheckpoint(TorchUnits):
    """Every function is checkpointed: what it computes is computed again where a call needs it."""

    name = "torch-checkpoint"
    traits = Traits(recomputes=True)

    def called(self, function: Function, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...] | None:
        """`torch.utils.checkpoint.checkpoint`, not reentrant."""
        return checkpoint(function, *inputs, use_reentrant=False)


class TorchCheckpointReentrant(TorchUnits):
    """Every function is checkpointed by the older implementation, which is one node of the graph."""

    name = "torch-checkpoint-reentrant"
    capabilities = TorchEager.capabilities - {Capability.CREATE_GRAPH, Capability.FUNCTIONAL, Capability.INPUTS}
    traits = Traits(recomputes=True, one_node=True)

    def called(self, function: Function, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...] | None:
        """`torch.utils.checkpoint.checkpoint`, reentrant."""
        return checkpoint(function, *inputs, use_reentrant=True)


class TorchCompile(TorchUnits):
    """Every function is compiled; equal functions are compiled once."""

    backend = "inductor"

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.compiled: dict[Function, Function] = {}

    def called(self, function: Function, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...] | None:
        """The function, compiled by `torch.compile`."""
        if function not in self.compiled:
            self.compiled[function] = torch.compile(function, backend=self.backend)
        return self.compiled[function](*inputs)


class TorchCompileEager(TorchCompile):
    """Functions are traced, and what was traced is run by PyTorch as it is."""

    name = "torch-compile-eager"
    backend = "eager"


class TorchCompileAot(TorchCompile):
    """Functions are traced together with their derivatives."""

    name = "torch-compile-aot_eager"
    backend = "aot_eager"
    capabilities = TorchEager.capabilities - {Capability.CREATE_GRAPH}
    traits = Traits(one_node=True)


class TorchCompileInductor(TorchCompileAot):
    """Functions are traced together with their derivatives, and compiled to machine code."""

    name = "torch-compile-inductor"
    backend = "inductor"
