"""Frameworks in which a whole stage is broken, or a single program takes seconds."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from autograd_conformance.frameworks.adapter import HookFunction
from autograd_conformance.frameworks.pytorch.eager import TorchEager
from autograd_conformance.programs.language import Attrs
from examples import tiny
from examples.tiny import Tensor, history
from examples.tiny_adapter import Tiny
from tests.frameworks import failing

VERSION = os.environ.setdefault("BROKEN_VERSION", f"1.0.{os.getpid()}")  # so that no audit or gate is reused


class NoBackward(Tiny):
    """Every backward call raises."""

    name, version = "no backward", VERSION
    packages = ("examples.tiny", "tests.frameworks.failing")

    def backward(
        self, roots: Sequence[Tensor], cotangents: Sequence[np.ndarray | None], retain_graph: bool | None
    ) -> None:
        failing.backward(roots, cotangents)


class Overwrites(Tiny):
    """A backward call overwrites the gradients of the leaves that it reaches."""

    name, version = "overwrites", VERSION

    def backward(
        self, roots: Sequence[Tensor], cotangents: Sequence[np.ndarray | None], retain_graph: bool | None
    ) -> None:
        held = [(each, each.grad) for each in history(roots[0])]
        for each, _ in held:
            each.grad = None
        try:
            super().backward(roots, cotangents, retain_graph)
        except Exception:
            for each, gradient in held:
                each.grad = gradient
            raise


class OverwritesNumbers(Overwrites):
    """A backward call overwrites the gradients of numbers only."""

    name = "overwrites numbers"

    def backward(
        self, roots: Sequence[Tensor], cotangents: Sequence[np.ndarray | None], retain_graph: bool | None
    ) -> None:
        vectors = any(each.data.shape for each in history(roots[0]))
        (Tiny if vectors else Overwrites).backward(self, roots, cotangents, retain_graph)


class DiesAdding(Tiny):
    """A backward call that has to add to a gradient ends the process."""

    name, version = "dies adding", VERSION

    def backward(
        self, roots: Sequence[Tensor], cotangents: Sequence[np.ndarray | None], retain_graph: bool | None
    ) -> None:
        if any(each.grad is not None for each in history(roots[0])):
            os._exit(7)
        super().backward(roots, cotangents, retain_graph)


class SilentHooks(TorchEager):
    """Hooks are never called."""

    def hook(self, value: torch.Tensor, function: HookFunction) -> Any:
        return super().hook(value, lambda gradient: None)

    def accumulated_hook(self, leaf: torch.Tensor, function: Any) -> Any:
        return super().accumulated_hook(leaf, lambda _: None)


class Seconds(Tiny):
    """Each op takes a second."""

    name, version = "seconds", VERSION

    def apply(self, op: str, operands: Sequence[tiny.Tensor], attrs: Attrs) -> Sequence[tiny.Tensor]:
        time.sleep(1.0)
        return super().apply(op, operands, attrs)
