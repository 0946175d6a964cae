"""PyTorch's own modes that take a function as a unit: checkpointed, compiled."""

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
"""How many functions are kept, to be called again by programs that have equal ones."""


class TorchRegions(TorchEager):
    """PyTorch whose computing instructions stand in functions; derived classes say how these are called."""

    insists = insists()
    capabilities = TorchEager.capabilities - {Capability.DEFAULT_DTYPE}
    """What a function does that was made under another default dtype than it is called under is said nowhere."""

    prelude = ""
    """What a script needs beside the usual lines."""
    head, call = "", "{function}({inputs})"
    """How a function's definition begins in code, and how it is called."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        prelude = "\n".join(filter(None, (self.dialect.prelude, self.prelude)))
        self.function = lru_cache(maxsize=KEPT)(self._function)
        self.dialect = replace(self.dialect, prelude=prelude, unit_head=self.head, unit=self.call)

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """PyTorch without functions."""
        return {"without a function around it": partial(TorchEager, self.requested_device)}

    def holds(self, program: Program, at: int, run: Sequence[int]) -> bool:
        """Everything."""
        return True

    def unit(self, source: str, inputs: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        """The results of the function that `source` defines; equal sources are one function."""
        return self.called(self.function(source), inputs) or ()

    def _function(self, source: str) -> Function:
        return self.made(_defined(source, self.dialect.prelude))

    def made(self, function: Function) -> Function:
        """What is called in a function's place."""
        return function

    def called(self, function: Function, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...] | None:
        """What a function gives, called as it is."""
        return function(*inputs)


def is_repeatable(program: Program, at: int, run: Sequence[int]) -> bool:
    """Whether an instruction of a function does the same when it is run again: it writes into nothing from outside."""
    step = program[at]
    return not isinstance(step, InPlace) or owner(program, step.target).at in run


def owner(program: Program, ref: Ref) -> Ref:
    """The value in whose memory another one may lie."""
    step = program[ref.at]
    return owner(program, operands(step)[0]) if may_be_view(step) else ref


def may_be_view(step: Instruction) -> bool:
    """Whether what an instruction makes may lie in the memory of its first operand."""
    match step:
        case Detach():
            return True
        case Apply(op, args):
            return bool(args) and row_of(op).aliases is not Certainty.NEVER
        case _:
            return False


def _defined(source: str, prelude: str) -> Function:
    """The function that some code defines, in a file of its own by its name: what the compiler learns of a function, it
    keeps by file and line.
    """
    scope: dict[str, Any] = {}
    exec(prelude, scope)
    exec(compile(source, f"<{zlib.crc32(source.encode()):08x}>", "exec"), scope)
    return scope["region"]


class TorchCheckpoint(TorchRegions):
    """Every function is checkpointed: what it computes is computed again where a call needs it."""

    name = "torch-checkpoint"
    traits = Traits(recomputes=True)
    trait_sources: ClassVar[Mapping[str, str]] = {
        "recomputes": "https://docs.pytorch.org/docs/stable/checkpoint.html",
    }
    prelude = "from torch.utils.checkpoint import checkpoint"
    call = "checkpoint({arguments}, use_reentrant=False)"

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """PyTorch that keeps what it computed."""
        return {"without the checkpoint": partial(TorchEager, self.requested_device)}

    def holds(self, program: Program, at: int, run: Sequence[int]) -> bool:
        """All that can be done again: writes only into what the function made itself."""
        return is_repeatable(program, at, run)

    def called(self, function: Function, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...] | None:
        """`torch.utils.checkpoint.checkpoint`, not reentrant."""
        return checkpoint(function, *inputs, use_reentrant=False)


KEPT_IN = "TORCHINDUCTOR_CACHE_DIR"
"""The environment variable that names the folder in which PyTorch keeps what it compiled."""

DONATED = """\
import torch._functorch.config
torch._functorch.config.donated_buffer = False"""
"""Without it, a call with retain_graph=True is refused, with an error that says to turn it off."""


class TorchCompile(TorchRegions):
    """Every function is compiled; equal functions are compiled once."""

    backend = "inductor"
    programs_each = 8
    dynamic: bool | None = None
    """Whether sizes are symbols from the beginning; None: as soon as a function is called with other ones."""
    prelude = DONATED

    def __init__(self, device: str = "cpu") -> None:
        self.head = f"@torch.compile(backend={self.backend!r}{', dynamic=True' if self.dynamic else ''})"
        super().__init__(device)
        torch._logging.set_logs(all=logging.CRITICAL)  # what fails is told by its exception
        torch._dynamo.config.recompile_limit = 1_000_000  # beyond it, functions are silently run as they are
        torch._dynamo.config.accumulated_recompile_limit = 1_000_000

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """The backends that do less, and no compiler."""
        lesser = COMPILED[next(k for k, each in enumerate(COMPILED) if isinstance(self, each)) + 1 :]
        backends = {f"with backend={each.backend!r}": partial(each, self.requested_device) for each in lesser}
        return {**backends, "without torch.compile": partial(TorchEager, self.requested_device)}

    def made(self, function: Function) -> Function:
        """The function, compiled by `torch.compile`."""
        return torch.compile(function, backend=self.backend, dynamic=self.dynamic)


class TorchCompileEager(TorchCompile):
    """Functions are traced, and what was traced is run by PyTorch as it is."""

    name = "torch-compile-eager"
    backend = "eager"


class TorchCompileAot(TorchCompile):
    """Functions are traced together with their derivatives."""

    name = "torch-compile-aot_eager"
    backend = "aot_eager"
    programs_each = 16
    capabilities = TorchRegions.capabilities - {Capability.CREATE_GRAPH, Capability.CREATES_IN_LEAVES}
    traits = Traits(one_node=True)
    trait_sources: ClassVar[Mapping[str, str]] = {
        "one_node": "https://docs.pytorch.org/functorch/stable/generated/functorch.compile.aot_function.html",
    }


class TorchCompileInductor(TorchCompileAot):
    """Functions are traced together with their derivatives, and compiled to machine code."""

    name = "torch-compile-inductor"
    backend = "inductor"
    programs_each = 32

    def __init__(self, device: str = "cpu") -> None:
        given = os.environ.get(KEPT_IN)
        if given in (None, default_cache_dir()):  # which PyTorch sets when it is imported, where a reboot takes it
            os.environ[KEPT_IN] = str(compiled("inductor", torch.__version__))
        super().__init__(device)


COMPILED: tuple[type[TorchCompile], ...] = (TorchCompileInductor, TorchCompileAot, TorchCompileEager)
"""The backends, each of which does less than the one before."""
