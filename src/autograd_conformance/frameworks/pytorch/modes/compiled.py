"""PyTorch's modes with `torch.compile`: three backends, symbolic sizes, no reuse between programs, compiled steps."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
import torch._dynamo.config
from torch._inductor.runtime.cache_dir_utils import default_cache_dir

from autograd_conformance.frameworks.environment.caches import compiled
from autograd_conformance.frameworks.pytorch.modes.layers import Function, Layer
from autograd_conformance.frameworks.pytorch.modes.regions import TorchRegions
from autograd_conformance.programs.capabilities import Capability

KEPT_IN = "TORCHINDUCTOR_CACHE_DIR"
"""The environment variable with the folder of Inductor's cache."""

UNDONATED = """\
import torch._functorch.config
torch._functorch.config.donated_buffer = False"""
"""Lines of a script that change a setting, without which a call with retain_graph=True raises an error that says to
change it.
"""


DOCUMENTATION = "https://docs.pytorch.org/functorch/stable/generated/functorch.compile.aot_function.html"


@dataclass(frozen=True)
class Compile(Layer):
    """Compiles each region (instructions that run as one compiled or checkpointed function) with `torch.compile`; equal
    regions are compiled once.
    """

    backend: str
    programs_each: int = 32
    joint: bool = True
    """Whether regions are traced together with their derivatives, so that each is one node."""
    dynamic: bool | None = None
    """Whether sizes are symbolic from the start; None: from the first call with other sizes."""
    forgets: bool = False
    """Whether all compiled regions are dropped before each program, so that programs do not affect each other."""
    steps: bool = False
    """Whether optimizer steps are compiled, too. When a whole training step is compiled, PyTorch compiles everything
    but the backward call.
    """

    donates: bool = False
    """Whether a compiled backward pass may write to the memory of saved tensors, as PyTorch's default is. Then a call
    with retain_graph=True raises an error.
    """

    words = "torch.compile"

    def __post_init__(self) -> None:
        variant = {"dynamic": self.dynamic, "fresh": self.forgets, "steps": self.steps, "donated": self.donates}
        options = f"backend={self.backend!r}{', dynamic=True' if self.dynamic else ''}"
        vars(self).update(  # members of `Layer` that follow from the fields
            label="-".join(["compile", self.backend, *(word for word, on in variant.items() if on)]),
            prelude="" if self.donates else UNDONATED,
            head=f"@torch.compile({options})",
            call=f"torch.compile({{function}}, {options})({{inputs}})",
        )
        if self.joint:
            retaining = (Capability.RETAIN,) if self.donates else ()
            casting = (Capability.AUTOCAST,) if self.backend == "inductor" else ()  # its kernels round less often
            excludes = (Capability.CREATE_GRAPH, Capability.CREATES_IN_LEAVES, *retaining, *casting)
            vars(self).update(traits={"one_node": DOCUMENTATION}, excludes=excludes)

    def simpler(self) -> Mapping[str, Layer]:
        """Returns simpler layers: this one without symbolic sizes from the start, without donated buffers or with eager
        optimizer steps, and the usual layer of each simpler backend. Returns nothing if `forgets`, because a layer that
        keeps its functions is not simpler.
        """
        if self.forgets:
            return {}
        found: dict[str, Layer] = {}
        if self.dynamic:
            found["without dynamic=True"] = replace(self, dynamic=None)
        if self.donates:
            found["without donated buffers"] = replace(self, donates=False)
        if self.steps:
            found["without a compiled step"] = replace(self, steps=False)
        at = next((k for k, each in enumerate(BACKENDS) if each.backend == self.backend), -1)
        return found | {f"with backend={each.backend!r}": each for each in BACKENDS[at + 1 :]}

    def start(self) -> None:
        """Configure the compiler, and choose the folder of Inductor's cache."""
        torch._logging.set_logs(all=logging.CRITICAL)  # exceptions report failures
        # beyond the limit, functions silently run without the compiler
        torch._dynamo.config.recompile_limit = 1_000_000
        torch._dynamo.config.accumulated_recompile_limit = 1_000_000
        if self.backend == "inductor" and os.environ.get(KEPT_IN) in (None, default_cache_dir()):
            # PyTorch's default folder, which a reboot may empty
            os.environ[KEPT_IN] = str(compiled("inductor", torch.__version__))

    def made(self, function: Function) -> Function:
        """Compile the function with `torch.compile`."""
        return torch.compile(function, backend=self.backend, dynamic=self.dynamic)

    def step(self, step: Callable[[], Any]) -> Callable[[], Any]:
        """Returns an optimizer's step, compiled if `steps`."""
        return torch.compile(step, backend=self.backend) if self.steps else step

    def printed_step(self, step: str) -> str:
        """Returns the code of an optimizer's step, inside `torch.compile(...)` if `steps`."""
        return f"torch.compile({step}, backend={self.backend!r})" if self.steps else step


INDUCTOR = Compile("inductor", programs_each=32)
AOT = Compile("aot_eager", programs_each=16)
EAGER = Compile("eager", programs_each=8, joint=False)
BACKENDS = (INDUCTOR, AOT, EAGER)
"""The layers with each of the three backends and its usual options, each simpler than the one before."""


class TorchCompile(TorchRegions):
    """Base class of the modes of PyTorch that compile each region. Derived classes that name a `backend` instead of
    `layers` work for one release.
    """

    layers: ClassVar[tuple[Layer, ...]] = (Compile("inductor", programs_each=8, joint=False),)
    backend: ClassVar[str] = "inductor"
    dynamic: ClassVar[bool | None] = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        old = {name: value for name, value in vars(cls).items() if name in ("backend", "dynamic")}
        if old:
            text = f"{cls.__qualname__} has to name layers, such as `layers = (replace(AOT, dynamic=True),)`"
            warnings.warn(f"{text}; `backend` and `dynamic` end with the next release", FutureWarning, 2)
            cls.layers = tuple(replace(layer, **old) if isinstance(layer, Compile) else layer for layer in cls.layers)
            cls.head = cls.layers[-1].head
        for layer in cls.layers:
            if isinstance(layer, Compile):
                cls.backend, cls.dynamic = layer.backend, layer.dynamic


class TorchCompileEager(TorchCompile):
    """PyTorch that traces each region (a sequence of instructions) as one function, and runs the trace eagerly."""

    layers = (EAGER,)


class TorchCompileAot(TorchCompile):
    """PyTorch that traces each region (a sequence of instructions) as one function, together with its derivative."""

    layers = (AOT,)


class TorchCompileInductor(TorchCompile):
    """PyTorch that traces each region (a sequence of instructions) together with its derivative, and compiles both to
    machine code.
    """

    layers = (INDUCTOR,)


class TorchCompileInductorDonated(TorchCompile):
    """`TorchCompileInductor` as PyTorch configures it: a backward pass may overwrite the tensors that it saved."""

    layers = (replace(INDUCTOR, donates=True),)


class TorchCompileAotDynamic(TorchCompile):
    """`TorchCompileAot` with symbolic sizes."""

    layers = (replace(AOT, dynamic=True),)


class TorchCompileInductorDynamic(TorchCompile):
    """`TorchCompileInductor` with symbolic sizes."""

    layers = (replace(INDUCTOR, dynamic=True),)


class TorchCompileAotFresh(TorchCompile):
    """`TorchCompileAot` that drops all compiled regions before each program."""

    layers = (replace(AOT, forgets=True),)


class TorchCompileAotSteps(TorchCompile):
    """`TorchCompileAot` with compiled optimizer steps."""

    layers = (replace(AOT, steps=True),)
