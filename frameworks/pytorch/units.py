"""PyTorch's own modes that take a function as a unit: checkpointed, compiled."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import torch
import torch._dynamo.config
import torch._functorch.config
from torch.utils.checkpoint import checkpoint

from autograd_conformance.frameworks.pytorch.eager import TorchEager
from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.ops.row import Certainty
from autograd_conformance.programs.capabilities import Capability, Traits
from autograd_conformance.programs.language import Apply, Detach, InPlace, Program, Ref

Function = Callable[..., tuple[torch.Tensor, ...] | None]


class TorchUnits(TorchEager):
    """PyTorch whose computing instructions stand in functions; derived classes say how these are called."""

    def holds(self, program: Program, at: int, run: Sequence[int]) -> bool:
        """Everything."""
        return True

    def unit(self, source: str, inputs: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        """The results of the function that `source` defines."""
        return self.called(_function(source, self.dialect.prelude), inputs) or ()

    def called(self, function: Function, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...] | None:
        """What a function gives, called as it is."""
        return function(*inputs)


def is_repeatable(program: Program, at: int, run: Sequence[int]) -> bool:
    """Whether an instruction of a function does the same when it is run again: it writes into nothing from outside."""
    step = program[at]
    return not isinstance(step, InPlace) or _owner(program, step.target).at in run


def _owner(program: Program, ref: Ref) -> Ref:
    """The value in whose memory another one may lie."""
    match program[ref.at]:
        case Detach(source):
            return _owner(program, source)
        case Apply(op, args) if args and row_of(op).aliases is not Certainty.NEVER:
            return _owner(program, args[0])
        case _:
            return ref


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

    def holds(self, program: Program, at: int, run: Sequence[int]) -> bool:
        """All that can be done again: writes only into what the function made itself."""
        return is_repeatable(program, at, run)

    def called(self, function: Function, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...] | None:
        """`torch.utils.checkpoint.checkpoint`, not reentrant."""
        return checkpoint(function, *inputs, use_reentrant=False)


class TorchCompile(TorchUnits):
    """Every function is compiled; equal functions are compiled once."""

    backend = "inductor"

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        torch._logging.set_logs(all=logging.CRITICAL)  # what fails is told by its exception
        # without it, a call with retain_graph=True is refused, with an error that says to turn it off
        torch._functorch.config.donated_buffer = False
        torch._dynamo.config.recompile_limit = 1_000_000  # beyond it, functions are silently run as they are
        torch._dynamo.config.accumulated_recompile_limit = 1_000_000
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
