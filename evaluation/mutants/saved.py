"""Mutants of hooks on saved tensors: PyTorch that packs what it saves, and loses or mixes something of it."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Program
from evaluation.mutants.mutant import Mutant


class Packing(Mutant):
    """PyTorch whose saved tensors are packed as copies. Subclasses change one of the two hooks."""

    capabilities = Mutant.capabilities - {Capability.WRITE_CHECKS}

    def __init__(self, device: str = "cpu") -> None:
        self.entered = ExitStack()
        super().__init__(device)

    def pack(self, saved: torch.Tensor) -> Any:
        """The kept form of a saved tensor; here a copy."""
        return saved.detach().clone()

    def unpack(self, kept: Any) -> torch.Tensor:
        """The saved tensor, from what was kept of it; here what was kept."""
        return kept  # type: ignore[no-any-return]

    def prepare(self, program: Program) -> None:
        """Install the hooks, before a program."""
        self.entered.enter_context(torch.autograd.graph.saved_tensors_hooks(self.pack, self.unpack))

    def finish(self) -> None:
        """Remove the hooks, after a program."""
        self.entered.close()


class HonestPacking(Packing):
    """Has no fault: every failure is a false alarm."""


class UnpackedOnce(Packing):
    """A saved tensor is dropped when it is unpacked: a second call on the graph gets zeros."""

    killed_by = ("lifetime/retained-works", "relations/repeated", "gradients/graph", "accumulation/adds")

    def pack(self, saved: torch.Tensor) -> Any:
        return [saved.detach().clone()]

    def unpack(self, kept: Any) -> torch.Tensor:
        (found,) = kept
        kept[0] = torch.zeros_like(found)
        return found


class PackedInSingle(Packing):
    """Saved tensors are kept with the digits of float32."""

    killed_by = ("gradients/op", "gradients/graph")

    def pack(self, saved: torch.Tensor) -> Any:
        return saved.detach().to(torch.float32), saved.dtype

    def unpack(self, kept: Any) -> torch.Tensor:
        found, dtype = kept
        return found.to(dtype) if dtype == torch.float64 else found.clone().to(dtype)


class PackedByShape(Packing):
    """Saved tensors are kept by their shape: a later one of the same shape takes the place of an earlier one."""

    killed_by = ("gradients/graph", "gradients/op")

    def pack(self, saved: torch.Tensor) -> Any:
        self.kept[saved.shape, saved.dtype] = saved.detach().clone()
        return saved.shape, saved.dtype

    def unpack(self, kept: Any) -> torch.Tensor:
        return self.kept[kept]

    def reset(self) -> None:
        super().reset()
        self.kept: dict[object, torch.Tensor] = {}


class PackedInOrderOfMemory(Packing):
    """The elements of a saved tensor are kept in the order of memory, and unpacked in the order of its dimensions."""

    killed_by = ("gradients/graph", "gradients/op")

    def pack(self, saved: torch.Tensor) -> Any:
        order = sorted(range(saved.ndim), key=saved.stride, reverse=True)
        return saved.detach().permute(order).contiguous().reshape(saved.shape)


class UnpackedIntoOneBuffer(Packing):
    """Saved tensors of one shape are unpacked into the same buffer: an op that needs two of them gets one twice."""

    killed_by = ("gradients/op", "gradients/graph")

    def unpack(self, kept: Any) -> torch.Tensor:
        buffer = self.buffers.setdefault((kept.shape, kept.dtype), torch.empty_like(kept))
        return buffer.copy_(kept)

    def reset(self) -> None:
        super().reset()
        self.buffers: dict[object, torch.Tensor] = {}


class PacksOnlyWhatIsRecorded(Packing):
    """Only tensors that require grad are copied: a write to a saved constant changes the gradient, silently."""

    killed_by = ("writes/error-or-recorded",)

    def pack(self, saved: torch.Tensor) -> Any:
        return super().pack(saved) if saved.requires_grad else saved.detach()


class NumbersUnpackedInSingle(Packing):
    """Saved tensors of one element are unpacked with the digits of float32."""

    killed_by = ("gradients/op", "gradients/graph", "gradients/form")

    def unpack(self, kept: Any) -> torch.Tensor:
        found = super().unpack(kept)
        return found.float().double() if found.numel() == 1 and found.dtype == torch.float64 else found
