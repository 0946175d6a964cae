"""Mutants whose fault is in the state after an error: partly updated gradients or unusable graphs."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import torch

from evaluation.mutants.mutant import Cotangents, Mutant, Recording, Roots, is_freed


class NothingAfterAnError(Mutant):
    """After a backward call that failed, every later call fails."""

    killed_by = (
        "errors/recovers",
        "errors/refusal-keeps-graph",
        "lifetime/rebuilt",
        "lifetime/independent",
        "lifetime/traversed-only",
        "errors/legal-returns",
    )
    longest = 12
    why_long = "a graph that is freed, a call that fails on it, and another graph for later calls"

    def reset(self) -> None:
        super().reset()
        self.failed = False

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        if self.failed:
            raise RuntimeError("the tape is in an inconsistent state")
        try:
            super().backward(roots, cotangents, retain_graph, **options)
        except RuntimeError:
            self.failed = True
            raise


class DoneTwiceAfterAnError(NothingAfterAnError):
    """After a backward call that failed, the next call contributes twice."""

    killed_by = (
        "errors/recovers",
        "errors/refusal-keeps-graph",
        "sequences/history",
        "accumulation/first",
        "accumulation/adds",
    )
    longest = 12
    why_long = "a graph that is freed, a call that fails on it, and another graph for later calls"

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        failed, self.failed = self.failed, False
        if failed and all(root.requires_grad for root in roots):
            with suppress(RuntimeError):
                super().backward(roots, cotangents, True, **options)
        super().backward(roots, cotangents, retain_graph, **options)


class TornAtTheFirst(Mutant):
    """A call that fails on a freed graph adds 0.5 to the gradients of leaves that have one."""

    killed_by = ("errors/atomic",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        try:
            super().backward(roots, cotangents, retain_graph, **options)
        except RuntimeError as error:
            if is_freed(error):
                for leaf in self.leaves:
                    if leaf.requires_grad and leaf.grad is not None:
                        leaf.grad = leaf.grad + 0.5
            raise


class FailureFreesAll(Recording):
    """A call that fails on a freed graph frees every graph of the program."""

    killed_by = (
        "errors/recovers",
        "lifetime/traversed-only",
        "lifetime/independent",
        "lifetime/rebuilt",
        "lifetime/default-frees",
        "errors/legal-returns",
    )
    longest = 12
    why_long = "a graph that is freed, a call that fails on it, and another graph for later calls"

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        try:
            super().backward(roots, cotangents, retain_graph, **options)
        except RuntimeError as error:
            if is_freed(error):
                held = self.grads()
                for value in self.values:
                    self._free(value)
                self.set_grads(held)
            raise

    def _free(self, value: torch.Tensor) -> None:
        if value.requires_grad:
            with suppress(RuntimeError):  # it may have been freed before
                value.sum().backward()
