"""PyTorch's modes that run a region as one function: checkpoints and `torch.compile`."""

from __future__ import annotations

import logging
import os
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, ClassVar

import torch
import torch._dynamo.config
from torch._inductor.runtime.cache_dir_utils import default_cache_dir
from torch.utils.checkpoint import checkpoint

from autograd_conformance.frameworks.environment.caches import compiled
from autograd_conformance.frameworks.pytorch.eager import TorchEager
from autograd_conformance.frameworks.pytorch.errors import insists
from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.ops.rows.row import Certainty
from autograd_conformance.programs.capabilities import Capability, Traits
from autograd_conformance.programs.language import Apply, Detach, InPlace, Instruction, Program, Ref
from autograd_conformance.programs.operands import operands

Function = Callable[..., tuple[torch.Tensor, ...] | None]

KEPT = 4_096
"""Maximum number of functions that are kept for equal regions of later programs."""


class TorchRegions(TorchEager):
    """PyTorch that runs each region as a function. Derived classes define how the function is transformed and
    called.
    """

    insists = insists()
    capabilities = TorchEager.capabilities - {Capability.DEFAULT_DTYPE}
    """The default dtype is not claimed: no documentation says what happens if it differs between definition and
    call.
    """

    prelude = ""
    """Additional lines at the top of a script."""
    head, call = "", "{function}({inputs})"
    """Templates for the line above a function's definition, and for its call."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        prelude = "\n".join(filter(None, (self.dialect.prelude, self.prelude)))
        self.function = lru_cache(maxsize=KEPT)(self._function)
        self.dialect = replace(self.dialect, prelude=prelude, unit_head=self.head, unit=self.call)

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Eager PyTorch."""
        return {"without a function around it": partial(TorchEager, self.requested_device)}

    def holds(self, program: Program, at: int, run: Sequence[int]) -> bool:
        """True: every instruction."""
        return True

    def unit(self, source: str, inputs: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        """Call the function that `source` defines, and return its results. Equal sources use the same function."""
        return self.called(self.function(source), inputs) or ()

    def _function(self, source: str) -> Function:
        return self.made(_defined(source, self.dialect.prelude))

    def made(self, function: Function) -> Function:
        """Transform a function before it is called; here, return it unchanged."""
        return function

    def called(self, function: Function, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...] | None:
        """Call a function; here, without a transform."""
        return function(*inputs)


def is_repeatable(program: Program, at: int, run: Sequence[int]) -> bool:
    """Whether an instruction gives the same result when its region runs again: it writes to no value from outside."""
    step = program[at]
    return not isinstance(step, InPlace) or owner(program, step.target).at in run


def owner(program: Program, ref: Ref) -> Ref:
    """The value whose memory another value may share."""
    step = program[ref.at]
    return owner(program, operands(step)[0]) if may_be_view(step) else ref


def may_be_view(step: Instruction) -> bool:
    """Whether the result of an instruction may share memory with its first operand."""
    match step:
        case Detach():
            return True
        case Apply(op, args):
            return bool(args) and row_of(op).aliases is not Certainty.NEVER
        case _:
            return False


def _defined(source: str, prelude: str) -> Function:
    """Define the function in some source. Its file name is unique to the source, because the compiler stores its
    knowledge of functions by file and line.
    """
    scope: dict[str, Any] = {}
    exec(prelude, scope)
    exec(compile(source, f"<{zlib.crc32(source.encode()):08x}>", "exec"), scope)
    return scope["region"]


class TorchCheckpoint(TorchRegions):
    """Checkpoints each region: backward calls recompute its values."""

    name = "torch-checkpoint"
    traits = Traits(recomputes=True)
    trait_sources: ClassVar[Mapping[str, str]] = {
        "recomputes": "https://docs.pytorch.org/docs/stable/checkpoint.html",
    }
    prelude = "from torch.utils.checkpoint import checkpoint"
    call = "checkpoint({arguments}, use_reentrant=False)"

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Eager PyTorch."""
        return {"without the checkpoint": partial(TorchEager, self.requested_device)}

    def holds(self, program: Program, at: int, run: Sequence[int]) -> bool:
        """Whether an instruction can be recomputed: it writes only to values of its region."""
        return is_repeatable(program, at, run)

    def called(self, function: Function, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...] | None:
        """`torch.utils.checkpoint.checkpoint`, not reentrant."""
        return checkpoint(function, *inputs, use_reentrant=False)


KEPT_IN = "TORCHINDUCTOR_CACHE_DIR"
"""The environment variable with the folder of Inductor's cache."""

DONATED = """\
import torch._functorch.config
torch._functorch.config.donated_buffer = False"""
"""Without this setting, a call with retain_graph=True raises an error that says to change it."""


class TorchCompile(TorchRegions):
    """Compiles each region with `torch.compile`; equal regions are compiled once."""

    backend = "inductor"
    programs_each = 8
    dynamic: bool | None = None
    """Whether sizes are symbolic from the start; None: from the first call with other sizes."""
    prelude = DONATED

    def __init__(self, device: str = "cpu") -> None:
        self.head = f"@torch.compile(backend={self.backend!r}{', dynamic=True' if self.dynamic else ''})"
        super().__init__(device)
        torch._logging.set_logs(all=logging.CRITICAL)  # exceptions report failures
        torch._dynamo.config.recompile_limit = (
            1_000_000  # beyond the limit, functions silently run without the compiler
        )
        torch._dynamo.config.accumulated_recompile_limit = 1_000_000

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Simpler backends, and eager PyTorch."""
        lesser = COMPILED[next(k for k, each in enumerate(COMPILED) if isinstance(self, each)) + 1 :]
        backends = {f"with backend={each.backend!r}": partial(each, self.requested_device) for each in lesser}
        return {**backends, "without torch.compile": partial(TorchEager, self.requested_device)}

    def made(self, function: Function) -> Function:
        """Compile the function with `torch.compile`."""
        return torch.compile(function, backend=self.backend, dynamic=self.dynamic)


class TorchCompileEager(TorchCompile):
    """Regions are traced, and the trace is run by eager PyTorch."""

    name = "torch-compile-eager"
    backend = "eager"


class TorchCompileAot(TorchCompile):
    """Regions are traced together with their derivatives."""

    name = "torch-compile-aot_eager"
    backend = "aot_eager"
    programs_each = 16
    capabilities = TorchRegions.capabilities - {Capability.CREATE_GRAPH, Capability.CREATES_IN_LEAVES}
    traits = Traits(one_node=True)
    trait_sources: ClassVar[Mapping[str, str]] = {
        "one_node": "https://docs.pytorch.org/functorch/stable/generated/functorch.compile.aot_function.html",
    }


class TorchCompileInductor(TorchCompileAot):
    """Regions are traced together with their derivatives, and compiled to machine code."""

    name = "torch-compile-inductor"
    backend = "inductor"
    programs_each = 32

    def __init__(self, device: str = "cpu") -> None:
        given = os.environ.get(KEPT_IN)
        if given in (None, default_cache_dir()):  # PyTorch's default folder, which a reboot may empty
            os.environ[KEPT_IN] = str(compiled("inductor", torch.__version__))
        super().__init__(device)


COMPILED: tuple[type[TorchCompile], ...] = (TorchCompileInductor, TorchCompileAot, TorchCompileEager)
"""The backends, each simpler than the one before."""
