"""Base classes of mutants with faulty regions: PyTorch whose regions are called, recomputed, or recorded as one node.

A region is a run of ops that is compiled or recomputed together, written as one Python function. The faults are those
of compilers and checkpoints, written in plain Python, so that no test waits for a compiler.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

from autograd_conformance.frameworks.pytorch.modes.checkpoints import TorchCheckpoint
from autograd_conformance.frameworks.pytorch.modes.layers import Function
from autograd_conformance.frameworks.pytorch.modes.regions import TorchRegions
from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.ops.rows.row import Certainty
from autograd_conformance.programs.capabilities import Capability, Traits
from autograd_conformance.programs.language import Apply, Program
from evaluation.mutants.mutant import Mutant

Tensors = Sequence[torch.Tensor]

REGION_LINE = re.compile(r"(?P<indent> *)(?P<modes>with [^:]*: )?(?:(?P<made>\(?y\d+(?:, y\d+)*,?\)?) = )?(?P<call>.*)")
"""A line of a region's source: its grad modes, the names of its results, and its call."""


def shares(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors share memory."""
    return bool(one.numel()) and one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


class PlainRegions(Mutant, TorchRegions):
    """A mutant that runs ops in regions, each called as an ordinary function."""

    def unit(self, source: str, inputs: Tensors) -> Tensors:
        """The results of a region, whose source `rewrite` has changed."""
        head, *lines = source.split("\n")
        return super().unit("\n".join([head, *self.rewrite(lines)]), inputs)

    def rewrite(self, lines: list[str]) -> list[str]:
        """The lines of a region's source; here unchanged."""
        return lines

    def called(self, function: Function, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        """The results of a region, with `change_inputs` and `change_results` applied."""
        return tuple(self.change_results(function(*self.change_inputs(inputs)) or (), inputs))

    def change_inputs(self, inputs: Tensors) -> Tensors:
        """The arguments that a region is called with; here its inputs."""
        return inputs

    def change_results(self, made: Tensors, inputs: Tensors) -> Tensors:
        """The results that a region returns; here those that it computed."""
        return made


class RecomputedRegions(Mutant, TorchCheckpoint):
    """A mutant whose regions are checkpointed."""

    framework = "torch-checkpoint"

    def called(self, function: Function, inputs: Tensors) -> tuple[torch.Tensor, ...] | None:
        """A region's results; a backward call that recomputes the region uses `recompute`."""
        calls = 0

        def run(*given: torch.Tensor) -> tuple[torch.Tensor, ...] | None:
            nonlocal calls
            calls += 1
            return function(*given) if calls == 1 else self.recompute(function, given)

        return checkpoint(run, *inputs, use_reentrant=False)  # type: ignore[no-any-return]

    def recompute(self, function: Function, inputs: Tensors) -> tuple[torch.Tensor, ...] | None:
        """A region's results, computed a second time."""
        return function(*inputs)


class OneNodeRegions(Mutant, TorchRegions):
    """A mutant whose regions are one graph node each. Such a region neither writes in place nor returns views."""

    capabilities = Mutant.capabilities - {Capability.CREATE_GRAPH, Capability.CREATES_IN_LEAVES}
    traits = Traits(one_node=True)
    versions: ClassVar[bool] = True
    """Whether a write over a tensor that a region saved is detected."""
    frees: ClassVar[bool] = True
    """Whether a call that does not retain the graph frees it."""
    zeros: ClassVar[bool] = True
    """Whether inputs that a call does not reach get gradients of zeros."""

    def holds(self, program: Program, at: int, run: Sequence[int]) -> bool:
        """Whether an instruction may be in a region: an op whose results have new memory."""
        step = program[at]
        return isinstance(step, Apply) and row_of(step.op).aliases is Certainty.NEVER

    def called(self, function: Function, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        """A region's results, recorded as one node."""
        recorded = torch.is_grad_enabled()
        with torch.enable_grad():
            return _Node.apply(self, function, recorded, *inputs)  # type: ignore[no-any-return, no-untyped-call]

    def traced(self, context: Any, function: Function, inputs: Tensors) -> tuple[torch.Tensor, ...]:
        """A region's results, with the graph inside the node."""
        return function(*inputs) or ()

    def cotangents(self, context: Any, given: Sequence[torch.Tensor | None]) -> Sequence[torch.Tensor | None]:
        """The cotangents of a region's results in a call; None for results that the call does not reach."""
        return given

    def gradients(self, context: Any, found: Sequence[torch.Tensor | None]) -> Sequence[torch.Tensor | None]:
        """The gradients of the region's inputs that require grad."""
        return found


class _Node(torch.autograd.Function):
    """A region as one node: its backward differentiates the graph recorded inside."""

    @staticmethod
    def forward(
        context: Any, framework: OneNodeRegions, function: Function, recorded: bool, *inputs: torch.Tensor
    ) -> Any:
        """The region's results, computed from detached inputs with a separate graph."""
        context.framework, context.outer = framework, inputs
        context.inputs = [x.detach() if framework.versions else x.data for x in inputs]
        for inner, outer in zip(context.inputs, inputs, strict=True):
            inner.requires_grad_(outer.requires_grad)
        with torch.set_grad_enabled(recorded):
            context.made = framework.traced(context, function, context.inputs)
        results = tuple(y.detach() for y in context.made)
        constant = (y for y, inner in zip(results, context.made, strict=True) if not inner.requires_grad)
        context.mark_non_differentiable(*constant)
        context.set_materialize_grads(False)
        context.save_for_backward(*([results[0].new_zeros(0)] if framework.frees else []))
        return results

    @staticmethod
    @once_differentiable
    def backward(context: Any, *cotangents: torch.Tensor | None) -> Any:
        """The gradients of all inputs that require grad; reading the saved tensors raises if they were freed."""
        framework = context.framework
        assert not framework.frees or len(context.saved_tensors) == 1
        given = framework.cotangents(context, cotangents)
        walked = [(y, ct) for y, ct in zip(context.made, given, strict=True) if ct is not None and y.requires_grad]
        requiring = [x for x in context.inputs if x.requires_grad]
        roots, weights = [y for y, _ in walked], [ct for _, ct in walked]
        found = torch.autograd.grad(
            roots, requiring, weights, retain_graph=True, allow_unused=True, materialize_grads=framework.zeros
        )
        each = iter(framework.gradients(context, found))
        return None, None, None, *(next(each) if x.requires_grad else None for x in context.inputs)


class HonestCalled(PlainRegions):
    """Has no fault, and regions that are called as functions: every failure is a false alarm."""


class HonestRecomputed(RecomputedRegions):
    """Has no fault except those of PyTorch's checkpoints: every other failure is a false alarm."""


class HonestOneNode(OneNodeRegions):
    """Has no fault, and regions that are one node: every failure is a false alarm."""


HONEST: tuple[type[Mutant], ...] = (HonestCalled, HonestRecomputed, HonestOneNode)
"""Mutants without a fault, which must pass."""
