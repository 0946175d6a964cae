"""Variations of the compiled modes: sizes that are symbols, compilers that remember nothing, compiled steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from autograd_conformance.frameworks.pytorch.regions import TorchCompileAot, TorchCompileInductor
from autograd_conformance.programs.language import Attrs, Groups


class TorchCompileAotDynamic(TorchCompileAot):
    """`TorchCompileAot` with sizes that are symbols."""

    name = "torch-compile-aot_eager-dynamic"
    dynamic = True

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """The same with sizes that are numbers, and what is less than that."""
        static = TorchCompileAot(self.requested_device)
        return {"without dynamic=True": partial(TorchCompileAot, self.requested_device), **static.simpler_modes()}


class TorchCompileInductorDynamic(TorchCompileInductor):
    """`TorchCompileInductor` with sizes that are symbols."""

    name = "torch-compile-inductor-dynamic"
    dynamic = True

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """The same with sizes that are numbers, and what is less than that."""
        static = TorchCompileInductor(self.requested_device)
        return {"without dynamic=True": partial(TorchCompileInductor, self.requested_device), **static.simpler_modes()}


class TorchCompileAotFresh(TorchCompileAot):
    """`TorchCompileAot` that forgets every function between programs: what it does with one depends on no other."""

    name = "torch-compile-aot_eager-fresh"

    def reset(self) -> None:
        """Nothing that was compiled is kept."""
        super().reset()
        self.function.cache_clear()
        torch.compiler.reset()

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """No compiler; it is no less of one where functions are kept."""
        return {"without torch.compile": super().simpler_modes()["without torch.compile"]}


class TorchCompileAotSteps(TorchCompileAot):
    """`TorchCompileAot` whose optimizers' steps are compiled, too: of a whole training step that is compiled as one
    function, PyTorch runs all but the call itself compiled.
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
        """The same with steps as they are, and what is less than that."""
        return {"without a compiled step": partial(TorchCompileAot, self.requested_device), **super().simpler_modes()}
