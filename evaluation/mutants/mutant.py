"""Base classes of mutants: PyTorch with places to put a fault.

A mutant overrides as little as it can. `gated` changes the gradient through one use of a value, `Combining` changes how
a leaf accumulates a contribution, and `Recording` remembers how every value was made, until the program ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
import torch

from autograd_conformance.frameworks.adapter import Adapter
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.known_differences import known
from autograd_conformance.known_differences.conditions.instructions import EdgeOperand
from autograd_conformance.known_differences.conditions.subjects import Dtype
from autograd_conformance.known_differences.entry import Known
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.dtypes import COARSE
from autograd_conformance.programs.language import Attrs

FREED = "Trying to backward through the graph a second time"
"""The part of PyTorch's message that identifies a freed graph."""


AT_THE_EDGES = (
    "gradients/tails",
    "gradients/elements",
    "gradients/kinks",
    "gradients/digits",
    "gradients/cancellation",
)
"""The rules about few numbers, which no other rule judges: a known difference in them hides no other fault."""


def unsound(framework: str) -> set[str]:
    """Ops with known differences in a framework itself, other than at the edges or in dtypes of few digits."""
    entries = (entry for entry in known(framework, device="cpu") if not is_at_an_edge(entry))
    return {entry.op for entry in entries if entry.op and not _is_coarse(entry)}


def is_at_an_edge(entry: Known) -> bool:
    """Whether a known difference is about few numbers, so that it hides no fault at others."""
    return entry.rule in AT_THE_EDGES or any(isinstance(each, EdgeOperand) for each in entry.conditions)


def _is_coarse(entry: Known) -> bool:
    """Whether a known difference occurs in one dtype of few digits only."""
    return any(isinstance(each, Dtype) and each.value in COARSE for each in entry.conditions)


UNSOUND = {"matrix_exp", "meshgrid", "broadcast_tensors"} | unsound("torch")
"""Ops with known differences in PyTorch itself, other than at the edges. No mutant has them, so that its own fault
causes any failure.
"""

Cotangents: TypeAlias = Sequence[np.ndarray | None]
Roots: TypeAlias = Sequence[torch.Tensor]


class Faulty(Adapter):
    """A framework with one fault."""

    packages = ("torch", "evaluation", "tests")
    """Packages of the framework under test: the fault is in the mutant's own methods."""
    framework: ClassVar[str] = "torch"
    """The framework that the mutant changes; the known differences of that framework are no kills."""
    fault: ClassVar[str]
    """The sentence that states the fault: the class's docstring."""
    killed_by: ClassVar[tuple[str, ...]] = ()
    """The rules of which one has to be reported. The first is the rule that the fault violates; its tests run first,
    and may report another rule that the fault also violates.
    """
    longest: ClassVar[int] = 8
    """Largest number of instructions of the shrunk program."""
    why_long: ClassVar[str] = ""
    """The reason, if the shrunk program has more than ten instructions."""
    flaky: ClassVar[bool] = False
    """Whether the same program may get another verdict when it runs again."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.fault = " ".join((cls.__doc__ or "").split())
        cls.name = "mutants/" + re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", cls.__name__).lower()


class Mutant(Faulty, Torch):
    """PyTorch without the ops that PyTorch itself gets wrong, and without their forms in place."""

    ops = Torch.ops - UNSOUND
    writes = frozenset(Torch.writes) - {f"{op}_" for op in UNSOUND}

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.reset()

    def reset(self) -> None:
        """Start a new program, without leaves."""
        super().reset()
        self.leaves: list[torch.Tensor] = []

    def leaf(self, data: np.ndarray, requires_grad: bool) -> torch.Tensor:
        """Make a leaf and remember it."""
        made = super().leaf(data, requires_grad)
        self.leaves.append(made)
        return made

    def grads(self) -> list[torch.Tensor | None]:
        """A copy of each leaf's `.grad`."""
        return [None if leaf.grad is None else leaf.grad.clone() for leaf in self.leaves]

    def set_grads(self, gradients: Sequence[torch.Tensor | None]) -> None:
        """Set each leaf's `.grad`."""
        for leaf, gradient in zip(self.leaves, gradients, strict=True):
            leaf.grad = gradient


class Honest(Mutant):
    """Has no fault: every failure is a false alarm."""


class Combining(Mutant):
    """A mutant whose fault is in accumulation: `combine` computes a leaf's `.grad` from the old one and a contribution.

    Each call makes a new gradient object, so that adding in place and hooks after accumulation are not claimed.
    """

    capabilities = Mutant.capabilities - {Capability.ADDS_IN_PLACE, Capability.ACCUMULATED_HOOKS}

    def combine(self, leaf: torch.Tensor, old: torch.Tensor | None, new: torch.Tensor | None) -> torch.Tensor | None:
        """The leaf's `.grad` after the call; here the right one."""
        return new if old is None else old if new is None else old + new

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        """A right backward call with all `.grad` cleared; then `combine` merges each old gradient and its
        contribution.
        """
        old = [Torch.gradient(self, leaf) for leaf in self.leaves]
        self.set_grads([None] * len(old))
        try:
            super().backward(roots, cotangents, retain_graph, **options)
        finally:
            with torch.set_grad_enabled(bool(options.get("create_graph"))):
                made = [Torch.gradient(self, leaf) for leaf in self.leaves]
                self.set_grads(list(map(self.combine, self.leaves, old, made)))


class Recording(Mutant):
    """A mutant that remembers how each value was made; `values` keeps all values alive, so that their ids
    stay unique.
    """

    def reset(self) -> None:
        """Start a new program, without values."""
        super().reset()
        self.values: list[torch.Tensor] = []
        self.made: dict[int, tuple[str, Sequence[torch.Tensor], Attrs, int]] = {}

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        """Apply an op and remember its results."""
        made = super().apply(op, operands, attrs)
        self.values.extend(made)
        self.made.update({id(value): (op, operands, attrs, k) for k, value in enumerate(made)})
        return made


def gated(value: torch.Tensor, change: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """A use of the same value whose gradient contribution is a copy, passed through `change`."""
    if not value.requires_grad:
        return value
    use = value.view_as(value)
    if not use.requires_grad:  # under no_grad nothing is recorded
        return value
    use.register_hook(lambda contribution: None if contribution is None else change(contribution).clone())
    return use


def is_freed(error: RuntimeError) -> bool:
    """Whether an error of PyTorch reports a freed graph."""
    return FREED in str(error)
