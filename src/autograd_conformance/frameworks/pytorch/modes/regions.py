"""PyTorch's modes: eager PyTorch that runs each region as a function, with layers around it."""

from __future__ import annotations

import importlib
import warnings
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial
from typing import Any, ClassVar

import torch

from autograd_conformance.frameworks.pytorch.eager import TorchEager
from autograd_conformance.frameworks.pytorch.errors import insists
from autograd_conformance.frameworks.pytorch.modes.layers import Function, Layer, nested, printed
from autograd_conformance.programs.capabilities import PYTORCH, Capability
from autograd_conformance.programs.language import Attrs, Groups, Program

KEPT = 4_096
"""Maximum number of functions that are kept for equal regions of later programs."""


class TorchRegions(TorchEager):
    """PyTorch that runs each region (a sequence of instructions) as a function. A mode is a derived class that names
    its `layers`.

    Its name, its claims and its printed form follow from its layers, except for those that the class defines itself.
    """

    insists = insists()
    capabilities = TorchEager.capabilities - {Capability.DEFAULT_DTYPE}
    """The capabilities of eager PyTorch, without the default dtype: no documentation says what happens if that dtype
    differs between definition and call.
    """
    layers: ClassVar[tuple[Layer, ...]] = ()
    """The layers around the function of each region, such as a checkpoint, outermost first."""

    prelude = ""
    """Additional lines at the top of a printed script, such as an import; empty if there are none."""
    head, call = printed(())
    """Templates for the line above the definition of a region's function, and for the function's call."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "layers" in vars(cls):
            for member, value in _claims(cls.layers).items():
                if member not in vars(cls):
                    setattr(cls, member, value)

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        for layer in self.layers:
            layer.start()
        self.function = lru_cache(maxsize=KEPT)(self._function)
        step = "{name}.step"
        for layer in reversed(self.layers):
            step = layer.printed_step(step)
        self.dialect = replace(
            self.dialect,
            prelude="\n".join(filter(None, (self.dialect.prelude, self.prelude))),
            unit_head=self.head,
            unit=self.call,
            step=f"{step.format(name=self.dialect.optimizer)}()",
            step_again=f"{step}()",
        )

    def reset(self) -> None:
        """Drop the optimizers and gradients of the last program, and all functions if a layer forgets them."""
        super().reset()
        if any(layer.forgets for layer in self.layers):
            self.function.cache_clear()
            torch.compiler.reset()

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Returns simpler modes: with a simpler form of the only layer, or without one of several layers; the last is
        eager PyTorch.
        """
        found: dict[str, type[TorchEager]] = {}
        match self.layers:
            case ():
                found["without a function around it"] = TorchEager
            case (layer,):
                found.update({words: composed(simpler) for words, simpler in layer.simpler().items()})
                found[f"without {layer.words}"] = TorchEager
            case layers:
                for at, layer in reversed([*enumerate(layers)]):
                    found[f"without {layer.words}"] = composed(*layers[:at], *layers[at + 1 :])
                found["with neither" if len(layers) == 2 else "with none of them"] = TorchEager
        return {words: partial(mode, self.requested_device) for words, mode in found.items()}

    def holds(self, program: Program, at: int, run: Sequence[int]) -> bool:
        """Whether every layer accepts an instruction in the region, whose instructions so far are `run`."""
        return all(layer.holds(program, at, run) for layer in self.layers)

    def unit(self, source: str, inputs: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        """Call the function that `source` defines, and return its results. Equal sources use the same function."""
        return self.called(self.function(source), inputs) or ()

    def _function(self, source: str) -> Function:
        return self.made(_defined(source, self.dialect.prelude))

    def made(self, function: Function) -> Function:
        """Put the layers around a function, except for what the outermost layer does at each call."""
        if not self.layers:
            return function
        outermost, *inner = self.layers
        for layer in reversed(inner):
            function = nested(layer, function)
        return outermost.made(function)

    def called(self, function: Function, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...] | None:
        """Call a function as the outermost layer does."""
        return self.layers[0].called(function, inputs) if self.layers else function(*inputs)

    def step(self, leaves: Sequence[torch.Tensor], optimizer: str, settings: Attrs, groups: Groups = ()) -> None:
        """Calls `Optimizer.step`, with the layers around it."""
        step: Callable[[], Any] = self.optimizer(leaves, optimizer, settings, groups).step
        for layer in reversed(self.layers):
            step = layer.step(step)
        step()


@cache
def composed(*layers: Layer) -> type[TorchRegions]:
    """Returns the class of the mode with the given layers, outermost first."""
    return type("TorchComposed", (TorchRegions,), {"layers": layers, "__doc__": "PyTorch with some layers."})


def _claims(layers: Sequence[Layer]) -> Mapping[str, object]:
    """Returns the attributes of a mode that follow from its layers."""
    sources = {trait: source for layer in layers for trait, source in layer.traits.items()}
    head, call = printed(layers)
    return {
        "name": "-".join(["torch", *(layer.label for layer in layers)]),
        "capabilities": TorchRegions.capabilities.difference(*(layer.excludes for layer in layers)),
        "traits": replace(PYTORCH, **dict.fromkeys(sources, True)),
        "trait_sources": sources,
        "programs_each": max((layer.programs_each for layer in layers), default=0),
        "prelude": "\n".join(dict.fromkeys(layer.prelude for layer in reversed(layers) if layer.prelude)),
        "head": head,
        "call": call,
    }


def _defined(source: str, prelude: str) -> Function:
    """Define the function in some source. Its file name is unique to the source, because the compiler stores its
    knowledge of functions by file and line.
    """
    scope: dict[str, Any] = {}
    exec(prelude, scope)
    exec(compile(source, f"<{zlib.crc32(source.encode()):08x}>", "exec"), scope)
    return scope["region"]  # type: ignore[no-any-return]


_MOVED = {
    "TorchCheckpoint": "checkpoints",
    "DONATED": "compiled", "KEPT_IN": "compiled", "TorchCompile": "compiled", "TorchCompileAot": "compiled",
    "TorchCompileEager": "compiled", "TorchCompileInductor": "compiled",
    "is_repeatable": "sharing", "may_be_view": "sharing", "owner": "sharing",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Returns a member that moved from here to another module, with a warning; for one release."""
    if name not in _MOVED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = f"{__package__}.{_MOVED[name]}"
    warnings.warn(f"{name} is in {module} now; it leaves {__name__} with the next release", FutureWarning, 2)
    return getattr(importlib.import_module(module), name)
