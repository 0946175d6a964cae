"""Mutants of modes that run regions in another way: selective checkpoints, and functions without in-place writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

from autograd_conformance.frameworks.pytorch.modes.checkpoints import TorchCheckpointSelective, saves_some
from autograd_conformance.frameworks.pytorch.modes.functionalized import TorchFunctionalize
from autograd_conformance.frameworks.pytorch.modes.layers import Function
from evaluation.mutants.mutant import Mutant
from evaluation.mutants.region_code import parts_of
from evaluation.mutants.regions import PlainRegions, Tensors

# --- selective checkpoints --------------------------------------------------------------------------------------------


class SelectiveRegions(Mutant, TorchCheckpointSelective):
    """PyTorch with selective checkpoints. Subclasses change the results that these save."""

    framework = "torch-checkpoint-selective"

    def called(self, function: Function, inputs: Tensors) -> tuple[torch.Tensor, ...] | None:
        """A region's results; a backward call that recomputes the region gets what `change` makes of those saved."""
        computing, recomputing = saves_some()

        @contextmanager
        def changed() -> Iterator[None]:
            for results in recomputing.storage.values():
                saved = {call: each for call, each in results.items() if hasattr(each, "val")}
                results.update(zip(saved, self.change([*saved.values()]), strict=True))
            with recomputing:
                yield

        contexts = (computing, changed())
        return checkpoint(function, *inputs, use_reentrant=False, context_fn=lambda: contexts)  # type: ignore[no-any-return]

    def change(self, saved: list[Any]) -> list[Any]:
        """The results that were saved of the calls of one op, in the order of the calls; here unchanged."""
        return saved


class HonestSelectiveRegions(SelectiveRegions):
    """Has no fault: every failure is a false alarm."""


class SavesInReverse(SelectiveRegions):
    """A selective checkpoint gives the results that it saved of one op to the op's calls in reverse order."""

    killed_by = ("gradients/graph", "errors/legal-returns", "gradients/op")
    longest = 10

    def change(self, saved: list[Any]) -> list[Any]:
        return saved[::-1]


class SavesInSingle(SelectiveRegions):
    """Results that a selective checkpoint saved have the digits of float32."""

    killed_by = ("gradients/op", "gradients/graph", "gradients/tails")

    def change(self, saved: list[Any]) -> list[Any]:
        for each in saved:
            each.val.copy_(each.val.float())
            each.version = each.val._version
        return saved


# --- functions without in-place writes --------------------------------------------------------------------------------


class FunctionalizedRegions(PlainRegions, TorchFunctionalize):
    """PyTorch that runs regions without in-place writes. Subclasses change the regions' code first."""

    framework = "torch-functionalize"


class HonestFunctionalizedRegions(FunctionalizedRegions):
    """Has no fault: every failure is a false alarm."""


class ForgetsLastWrite(FunctionalizedRegions):
    """A function without in-place writes leaves out the last write of a region."""

    killed_by = ("writes/value", "gradients/forward", "writes/recorded")

    def rewrite(self, lines: list[str]) -> list[str]:
        writes = [at for at, line in enumerate(lines[:-1]) if not parts_of(line)["made"]]
        return [line for at, line in enumerate(lines) if at not in writes[-1:]]


class WritesToCopiesOfViews(FunctionalizedRegions):
    """In a function without in-place writes, a write to a view does not reach the value that it is a view of."""

    killed_by = ("views/shares", "writes/aliases", "views/history")

    def rewrite(self, lines: list[str]) -> list[str]:
        found = []
        for line in lines:
            parts = parts_of(line)
            single = parts["made"] and "," not in parts["made"]
            found.append(f"{line[: parts.start('call')]}({parts['call']}).clone()" if single else line)
        return found
