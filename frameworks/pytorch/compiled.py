"""Variations of the compiled modes: sizes that are symbols, and compilers that remember nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch

from autograd_conformance.frameworks.pytorch.units import TorchCompileAot, TorchCompileInductor


class TorchCompileAotDynamic(TorchCompileAot):
    """`TorchCompileAot` with sizes that are symbols."""

    name = "torch-compile-aot_eager-dynamic"
    dynamic = True

    def plainer(self) -> Mapping[str, Callable[[], Any]]:
        """The same with sizes that are numbers, and what is less than that."""
        static = TorchCompileAot(self.asked)
        return {"without dynamic=True": partial(TorchCompileAot, self.asked), **static.plainer()}


class TorchCompileInductorDynamic(TorchCompileInductor):
    """`TorchCompileInductor` with sizes that are symbols."""

    name = "torch-compile-inductor-dynamic"
    dynamic = True

    def plainer(self) -> Mapping[str, Callable[[], Any]]:
        """The same with sizes that are numbers, and what is less than that."""
        static = TorchCompileInductor(self.asked)
        return {"without dynamic=True": partial(TorchCompileInductor, self.asked), **static.plainer()}


class TorchCompileAotFresh(TorchCompileAot):
    """`TorchCompileAot` that forgets every function between programs: what it does with one depends on no other."""

    name = "torch-compile-aot_eager-fresh"

    def reset(self) -> None:
        """Nothing that was compiled is kept."""
        super().reset()
        self.function.cache_clear()
        torch.compiler.reset()

    def plainer(self) -> Mapping[str, Callable[[], Any]]:
        """No compiler; it is no less of one where functions are kept."""
        return {"without torch.compile": super().plainer()["without torch.compile"]}
