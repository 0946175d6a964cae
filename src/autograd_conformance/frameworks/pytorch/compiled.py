"""Variants of the compiled modes: symbolic sizes, no reuse between programs, and compiled optimizer steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from autograd_conformance.frameworks.pytorch.regions import TorchCompileAot, TorchCompileInductor
from autograd_conformance.programs.language import Attrs, Groups


class TorchCompileAotDynamic(TorchCompileAot):
    """`TorchCompileAot` with symbolic sizes."""

    name = "torch-compile-aot_eager-dynamic"
    dynamic = True

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """The same mode with fixed sizes, and its simpler modes."""
        static = TorchCompileAot(self.requested_device)
        return {"without dynamic=True": partial(TorchCompileAot, self.requested_device), **static.simpler_modes()}


class TorchCompileInductorDynamic(TorchCompileInductor):
    """`TorchCompileInductor` with symbolic sizes."""

    name = "torch-compile-inductor-dynamic"
    dynamic = True

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """The same mode with fixed sizes, and its simpler modes."""
        static = TorchCompileInductor(self.requested_device)
        return {"without dynamic=True": partial(TorchCompileInductor, self.requested_device), **static.simpler_modes()}


class TorchCompileAotFresh(TorchCompileAot):
    """`TorchCompileAot` that drops all compiled regions between programs, so that programs do not affect each other."""

    name = "torch-compile-aot_eager-fresh"

    def reset(self) -> None:
        """Drop all compiled regions."""
        super().reset()
        self.function.cache_clear()
        torch.compiler.reset()

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Eager PyTorch; keeping compiled regions would not be a simpler mode."""
        return {"without torch.compile": super().simpler_modes()["without torch.compile"]}


class TorchCompileAotSteps(TorchCompileAot):
    """`TorchCompileAot` with compiled optimizer steps. When a whole training step is compiled, PyTorch compiles
    everything but the backward call.
    """

    name = "torch-compile-aot_eager-steps"

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        step = f"torch.compile({{name}}.step, backend={self.backend!r})()"
        at_once = step.format(name=self.dialect.optimizer)
        self.dialect = replace(self.dialect, step=at_once, step_again=step)

    def step(self, leaves: Sequence[torch.Tensor], optimizer: str, settings: Attrs, groups: Groups = ()) -> None:
        """`Optimizer.step`, compiled."""
        torch.compile(self.optimizer(leaves, optimizer, settings, groups).step, backend=self.backend)()

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """The same mode with eager steps, and its simpler modes."""
        return {"without a compiled step": partial(TorchCompileAot, self.requested_device), **super().simpler_modes()}
