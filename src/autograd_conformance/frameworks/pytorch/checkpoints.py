"""PyTorch's checkpoints, called in other ways than the usual one: what they close over, and the reentrant ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import torch
from torch.utils.checkpoint import checkpoint

from autograd_conformance.frameworks.pytorch.eager import TorchEager
from autograd_conformance.frameworks.pytorch.flags import is_random, requires_grad
from autograd_conformance.frameworks.pytorch.regions import (
    Function,
    TorchCheckpoint,
    TorchCompileAot,
    TorchRegions,
    is_repeatable,
    may_be_view,
)
from autograd_conformance.programs.capabilities import Capability, Traits
from autograd_conformance.programs.language import Program

DOCUMENTATION = "https://docs.pytorch.org/docs/stable/checkpoint.html"


class TorchCheckpointCaptured(TorchCheckpoint):
    """Every function is checkpointed, and finds its operands in what it closes over: it has no arguments."""

    name = "torch-checkpoint-captured"
    traits = Traits(recomputes=True, captures=True)
    trait_sources: ClassVar[Mapping[str, str]] = {"recomputes": DOCUMENTATION, "captures": DOCUMENTATION}
    prelude = "from functools import partial\nfrom torch.utils.checkpoint import checkpoint"
    call = "checkpoint(partial({arguments}), use_reentrant=False)"

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Checkpoints whose functions have arguments, and none."""
        return {
            "with the operands as arguments": partial(TorchCheckpoint, self.requested_device),
            **super().simpler_modes(),
        }

    def called(self, function: Function, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...] | None:
        """`torch.utils.checkpoint.checkpoint` of a function of nothing."""
        return checkpoint(partial(function, *inputs), use_reentrant=False)


class TorchCheckpointReentrant(TorchRegions):
    """Every function is checkpointed by the older implementation: it is one node of the graph, whose derivative is a
    backward call of its own.
    """

    name = "torch-checkpoint-reentrant"
    capabilities = TorchRegions.capabilities - {
        Capability.FUNCTIONAL, Capability.UNUSED, Capability.MATERIALIZES, Capability.ANY_INPUTS, Capability.INPUTS,
    }  # fmt: skip
    """Its documentation: it supports `torch.autograd.backward` alone, without `inputs`."""
    traits = Traits(one_node=True, recomputes=True)
    trait_sources: ClassVar[Mapping[str, str]] = {"one_node": DOCUMENTATION, "recomputes": DOCUMENTATION}
    prelude = TorchCheckpoint.prelude
    call = "checkpoint({arguments}, use_reentrant=True)"

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """The other implementation, and PyTorch that keeps what it computed."""
        device = self.requested_device
        return {
            "with use_reentrant=False": partial(TorchCheckpoint, device),
            "without the checkpoint": partial(TorchEager, device),
        }

    def holds(self, program: Program, at: int, run: Sequence[int]) -> bool:
        """What its documentation does not exclude: all that comes out of a function requires grad, or nothing does, for
        it makes all of it require grad; there is no detach in it, no grad mode, and nothing that is drawn in the shape
        of a value that requires grad. Nor are there views, for what a function of one's own returns may not be written
        to where it is one.
        """
        first = run[0] if run else at
        return (
            is_repeatable(program, at, run)
            and not may_be_view(program[at])
            and not is_random(program[at])
            and program.mode(at) == program.mode(first)
            and requires_grad(program, at) == requires_grad(program, first)
        )

    def called(self, function: Function, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...] | None:
        """`torch.utils.checkpoint.checkpoint`, reentrant."""
        return checkpoint(function, *inputs, use_reentrant=True)


class TorchCompileCheckpoint(TorchCompileAot):
    """Every function is checkpointed, in a function that is compiled."""

    name = "torch-compile-checkpoint"
    traits = Traits(one_node=True, recomputes=True)
    trait_sources: ClassVar[Mapping[str, str]] = {**TorchCompileAot.trait_sources, **TorchCheckpoint.trait_sources}
    prelude = f"{TorchCheckpoint.prelude}\n{TorchCompileAot.prelude}"
    call = 'torch.compile(lambda {inputs}: checkpoint({arguments}, use_reentrant=False), backend="aot_eager")({inputs})'

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.dialect = replace(self.dialect, unit_head="")

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Without the one, without the other, and without both."""
        device = self.requested_device
        return {
            "without the checkpoint": partial(TorchCompileAot, device),
            "without torch.compile": partial(TorchCheckpoint, device),
            "with neither": partial(TorchEager, device),
        }

    def holds(self, program: Program, at: int, run: Sequence[int]) -> bool:
        """All that can be done again: writes only into what the function made itself."""
        return is_repeatable(program, at, run)

    def made(self, function: Function) -> Function:
        """A compiled function that checkpoints it; it has code of its own, for the compiler keeps what it made of a
        function with its code.
        """

        def whole(*inputs: torch.Tensor) -> tuple[torch.Tensor, ...] | None:
            return checkpoint(function, *inputs, use_reentrant=False)

        whole.__code__ = whole.__code__.replace(co_filename=function.__code__.co_filename)
        return super().made(whole)
