"""PyTorch's modes with checkpoints: usual ones, with captured operands, selective, reentrant, and compiled."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

from autograd_conformance.frameworks.pytorch.modes.compiled import AOT
from autograd_conformance.frameworks.pytorch.modes.flags import is_random, requires_grad
from autograd_conformance.frameworks.pytorch.modes.forward import source
from autograd_conformance.frameworks.pytorch.modes.layers import Function, Layer
from autograd_conformance.frameworks.pytorch.modes.regions import TorchRegions
from autograd_conformance.frameworks.pytorch.modes.sharing import is_repeatable, may_be_view
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import AssignGrad, Backward, Grad, InPlace, Program
from autograd_conformance.programs.operands import operands

DOCUMENTATION = "https://docs.pytorch.org/docs/stable/checkpoint.html"


# The function below is printed in the scripts of failures. It needs nothing but PyTorch.


def saves_some():  # type: ignore[no-untyped-def]
    """Returns the contexts of selective checkpoints that save the results of products and of a few other ops."""
    aten = torch.ops.aten
    products = [aten.mm.default, aten.mv.default, aten.dot.default, aten.bmm.default, aten.addmm.default]
    others = [aten.mul.Tensor, aten.exp.default, aten.sin.default, aten.sigmoid.default, aten.sum.dim_IntList]
    return create_selective_checkpoint_contexts(products + others)


@dataclass(frozen=True)
class Checkpoint(Layer):
    """Checkpoints each region (instructions that run as one compiled or checkpointed function): backward calls
    recompute the region's values.
    """

    label = "checkpoint"
    words = "the checkpoint"
    traits = {"recomputes": DOCUMENTATION}
    prelude = "from torch.utils.checkpoint import checkpoint"
    call = "checkpoint({arguments}, use_reentrant=False)"

    def holds(self, program: Program, at: int, run: Sequence[int]) -> bool:
        """Whether an instruction can be recomputed with its region: it writes to no value from outside the region."""
        return is_repeatable(program, at, run)

    def called(self, function: Function, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...] | None:
        """Calls `torch.utils.checkpoint.checkpoint`, not reentrant."""
        return checkpoint(function, *inputs, use_reentrant=False)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class CapturedCheckpoint(Checkpoint):
    """Checkpoints each region as a function without arguments, which captures its operands."""

    label = "checkpoint-captured"
    traits = {"recomputes": DOCUMENTATION, "captures": DOCUMENTATION}
    prelude = f"from functools import partial\n{Checkpoint.prelude}"
    call = "checkpoint(partial({arguments}), use_reentrant=False)"

    def simpler(self) -> Mapping[str, Layer]:
        """Returns the simpler form of these checkpoints: those that get their operands as arguments."""
        return {"with the operands as arguments": Checkpoint()}

    def called(self, function: Function, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...] | None:
        """Calls `torch.utils.checkpoint.checkpoint` of a function without arguments."""
        return checkpoint(partial(function, *inputs), use_reentrant=False)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class SelectiveCheckpoint(Checkpoint):
    """Checkpoints each region, and saves the results of some of its ops, which backward calls do not recompute."""

    label = "checkpoint-selective"
    prelude = f"{Checkpoint.prelude}, create_selective_checkpoint_contexts\n\n\n{source(saves_some)}\n"
    call = "checkpoint({arguments}, use_reentrant=False, context_fn=saves_some)"

    def simpler(self) -> Mapping[str, Layer]:
        """Returns the simpler form of these checkpoints: those that save no results."""
        return {"without context_fn": Checkpoint()}

    def holds(self, program: Program, at: int, run: Sequence[int]) -> bool:
        """Whether PyTorch allows an instruction in the region. It refuses a second backward call through a region, and
        any call once a result that it saved was written to.
        """
        later = [program[k] for k in _downstream(program, (*run, at))]
        calls = [step for step in later if isinstance(step, Backward | Grad)]
        written = any(isinstance(step, InPlace | AssignGrad) for step in later)
        return len(calls) <= 1 and not any(call.create_graph for call in calls) and not written

    def called(self, function: Function, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...] | None:
        """Calls `torch.utils.checkpoint.checkpoint` with contexts that save the results of some ops."""
        return checkpoint(function, *inputs, use_reentrant=False, context_fn=saves_some)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class ReentrantCheckpoint(Checkpoint):
    """Checkpoints each region with the older, reentrant implementation. The region is then one node of the graph, and
    its derivative is a nested backward call.
    """

    label = "checkpoint-reentrant"
    excludes = (
        Capability.FUNCTIONAL, Capability.UNUSED, Capability.MATERIALIZES, Capability.ANY_INPUTS, Capability.INPUTS,
    )  # fmt: skip
    """Capabilities that this mode does not claim: the documentation says that reentrant checkpoints support only
    `torch.autograd.backward`, without `inputs`.
    """
    traits = {"one_node": DOCUMENTATION, "recomputes": DOCUMENTATION}
    call = "checkpoint({arguments}, use_reentrant=True)"

    def simpler(self) -> Mapping[str, Layer]:
        """Returns the simpler form of these checkpoints: those that are not reentrant."""
        return {"with use_reentrant=False": Checkpoint()}

    def holds(self, program: Program, at: int, run: Sequence[int]) -> bool:
        """Whether the documentation allows an instruction in the region.

        Either all results of a region require grad or none does, because the checkpoint makes all of them require grad;
        a value of which this is not known is in no region.
        The region contains no detach, no change of grad mode, and no random op with the shape of a value that requires
        grad. It contains no views, because the result of a custom function must not be written to if it is a view.
        """
        first, needs_grad = run[0] if run else at, requires_grad(program, at)
        return (
            is_repeatable(program, at, run)
            and not may_be_view(program[at])
            and not is_random(program[at])
            and program.mode(at) == program.mode(first)
            and needs_grad is not None
            and needs_grad == requires_grad(program, first)
        )

    def called(self, function: Function, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...] | None:
        """Calls `torch.utils.checkpoint.checkpoint`, reentrant."""
        return checkpoint(function, *inputs, use_reentrant=True)  # type: ignore[no-any-return]


def _downstream(program: Program, steps: Collection[int]) -> Collection[int]:
    """Returns the numbers of some instructions and of all that use their values, directly or not."""
    found = set(steps)
    for at, step in enumerate(program):
        if any(ref.at in found for ref in operands(step)):
            found.add(at)
    return found


class TorchCheckpoint(TorchRegions):
    """PyTorch in eager mode that checkpoints each region (instructions that run as one compiled or checkpointed
    function).
    """

    layers = (Checkpoint(),)


class TorchCheckpointCaptured(TorchRegions):
    """PyTorch in eager mode that checkpoints each region as a function without arguments, which captures
    its operands.
    """

    layers = (CapturedCheckpoint(),)


class TorchCheckpointSelective(TorchRegions):
    """PyTorch in eager mode that checkpoints each region, and saves the results of some of its ops."""

    layers = (SelectiveCheckpoint(),)


class TorchCheckpointReentrant(TorchRegions):
    """PyTorch in eager mode that checkpoints each region with PyTorch's older, reentrant implementation."""

    layers = (ReentrantCheckpoint(),)


class TorchCompileCheckpoint(TorchRegions):
    """PyTorch that checkpoints each region inside a compiled function."""

    name = "torch-compile-checkpoint"
    layers = (AOT, Checkpoint())
