"""Less usual forms of PyTorch's checkpoints: with captured operands, reentrant, and compiled."""

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
    """Checkpoints each region as a function without arguments, which captures its operands."""

    name = "torch-checkpoint-captured"
    traits = Traits(recomputes=True, captures=True)
    trait_sources: ClassVar[Mapping[str, str]] = {"recomputes": DOCUMENTATION, "captures": DOCUMENTATION}
    prelude = "from functools import partial\nfrom torch.utils.checkpoint import checkpoint"
    call = "checkpoint(partial({arguments}), use_reentrant=False)"

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Checkpoints with arguments, and eager PyTorch."""
        return {
            "with the operands as arguments": partial(TorchCheckpoint, self.requested_device),
            **super().simpler_modes(),
        }

    def called(self, function: Function, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...] | None:
        """`torch.utils.checkpoint.checkpoint` of a function without arguments."""
        return checkpoint(partial(function, *inputs), use_reentrant=False)


class TorchCheckpointReentrant(TorchRegions):
    """Checkpoints each region with the older, reentrant implementation. The region is then one node of the graph, and
    its derivative is a nested backward call.
    """

    name = "torch-checkpoint-reentrant"
    capabilities = TorchRegions.capabilities - {
        Capability.FUNCTIONAL, Capability.UNUSED, Capability.MATERIALIZES, Capability.ANY_INPUTS, Capability.INPUTS,
    }  # fmt: skip
    """The documentation says that reentrant checkpoints support only `torch.autograd.backward`, without `inputs`."""
    traits = Traits(one_node=True, recomputes=True)
    trait_sources: ClassVar[Mapping[str, str]] = {"one_node": DOCUMENTATION, "recomputes": DOCUMENTATION}
    prelude = TorchCheckpoint.prelude
    call = "checkpoint({arguments}, use_reentrant=True)"

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """The other implementation of checkpoints, and eager PyTorch."""
        device = self.requested_device
        return {
            "with use_reentrant=False": partial(TorchCheckpoint, device),
            "without the checkpoint": partial(TorchEager, device),
        }

    def holds(self, program: Program, at: int, run: Sequence[int]) -> bool:
        """Whether the documentation allows an instruction in the region.

        Either all results of a region require grad or none does, because the checkpoint makes all of them require grad.
        The region contains no detach, no change of grad mode, and no random op with the shape of a value that requires
        grad. It contains no views, because the result of a custom function must not be written to if it is a view.
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
    """Checkpoints each region inside a compiled function."""

    name = "torch-compile-checkpoint"
    traits = Traits(one_node=True, recomputes=True)
    trait_sources: ClassVar[Mapping[str, str]] = {**TorchCompileAot.trait_sources, **TorchCheckpoint.trait_sources}
    prelude = f"{TorchCheckpoint.prelude}\n{TorchCompileAot.prelude}"
    call = 'torch.compile(lambda {inputs}: checkpoint({arguments}, use_reentrant=False), backend="aot_eager")({inputs})'

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.dialect = replace(self.dialect, unit_head="")

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """The compiler alone, the checkpoint alone, and eager PyTorch."""
        device = self.requested_device
        return {
            "without the checkpoint": partial(TorchCompileAot, device),
            "without torch.compile": partial(TorchCheckpoint, device),
            "with neither": partial(TorchEager, device),
        }

    def holds(self, program: Program, at: int, run: Sequence[int]) -> bool:
        """Whether an instruction can be recomputed: it writes only to values of its region."""
        return is_repeatable(program, at, run)

    def made(self, function: Function) -> Function:
        """A compiled function that checkpoints the given one. It gets its own code object, because the compiler stores
        its output by the function's code.
        """

        def whole(*inputs: torch.Tensor) -> tuple[torch.Tensor, ...] | None:
            return checkpoint(function, *inputs, use_reentrant=False)

        whole.__code__ = whole.__code__.replace(co_filename=function.__code__.co_filename)
        return super().made(whole)
