"""A layer is one thing that PyTorch does with the function of a region (instructions that run as one function), such as
to checkpoint or to compile the function.

Layers compose: each one gets the function that the layer inside it made. A mode is a sequence of layers around eager
PyTorch, outermost first (`regions`). Every member of `Layer` but `label` and `words` has a default.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import torch

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Program

Function = Callable[..., tuple[torch.Tensor, ...] | None]

PLAIN = "{function}({inputs})"
"""Template for the call of a function without layers."""


class Layer:
    """Base class of layers; its defaults change nothing."""

    label: str
    """The layer's part of a mode's name: ``checkpoint`` in ``torch-checkpoint``."""
    words: str
    """The layer in a sentence: a program passes "without the checkpoint"."""

    excludes: Collection[Capability] = ()
    """Capabilities of eager PyTorch that the layer's documentation does not promise."""
    traits: Mapping[str, str] = {}
    """Fields of `Traits` that the layer sets to True, each with the address of its documentation."""
    programs_each: int = 0
    """About how many programs should share one compiled region; see `Adapter.programs_each`."""
    forgets: bool = False
    """Whether the functions of earlier programs are dropped before each program."""

    prelude: str = ""
    """Additional lines at the top of a printed script, such as an import; empty if there are none."""
    head: str = ""
    """The decorator above the printed definition of a region's function, which replaces `call` if this is the innermost
    layer; empty if there is none.
    """
    call: str = PLAIN
    """Template for a call: `{arguments}` are `{function}` and its `{inputs}`."""

    def simpler(self) -> Mapping[str, Layer]:
        """Returns simpler forms of the layer, closest first. Each key completes the sentence "it passes ...": ``without
        dynamic=True``.
        """
        return {}

    def start(self) -> None:
        """Prepare PyTorch. Called whenever an adapter with the layer is made."""

    def holds(self, program: Program, at: int, run: Sequence[int]) -> bool:
        """Whether an instruction may join the region that already contains the instructions `run`; see
        `Adapter.holds`.
        """
        return True

    def made(self, function: Function) -> Function:
        """Return the function of a region with the layer around it; called once for each function."""
        return function

    def called(self, function: Function, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...] | None:
        """Call a function that `made` returned, and return its results, or None if the function has no results."""
        return function(*inputs)

    def step(self, step: Callable[[], Any]) -> Callable[[], Any]:
        """Return the `step` method of an optimizer with the layer around it."""
        return step

    def printed_step(self, step: str) -> str:
        """Return the code for the `step` method of an optimizer with the layer around it: ``torch.compile(opt.step,
        backend='eager')``.
        """
        return step


def nested(layer: Layer, function: Function) -> Function:
    """Returns a layer around a function, as one function for the next layer.

    It gets its own code object, because the compiler stores its output by the function's code.
    """
    inside = layer.made(function)

    def whole(*inputs: torch.Tensor) -> tuple[torch.Tensor, ...] | None:
        return layer.called(inside, inputs)

    whole.__code__ = whole.__code__.replace(co_filename=function.__code__.co_filename)
    return whole


def printed(layers: Sequence[Layer]) -> tuple[str, str]:
    """Returns the templates for the line above a function's definition, and for its call with all layers around it."""
    head, call = "", PLAIN
    for at, layer in enumerate(reversed(layers)):
        if at == 0 and layer.head:
            head = layer.head
        elif call == PLAIN:
            call = layer.call
        else:
            inside = f"lambda {{inputs}}: {call}"
            parts = {"function": inside, "arguments": f"*[{inside}, {{inputs}}]", "inputs": "{inputs}"}
            call = layer.call.format(**parts)
    return head, call
