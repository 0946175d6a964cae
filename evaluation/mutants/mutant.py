"""What mutants share: PyTorch as it is, and the few places where a fault may be put.

A mutant overrides as little as it can. `gated` changes what flows back through one use of a value; `Combining` changes
what a leaf makes of a contribution; `Recording` remembers how every value was made. Memories last for one program.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
import torch

from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.known_differences import known
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Attrs

FREED = "Trying to backward through the graph a second time"
"""The part of PyTorch's message by which its adapter knows a freed graph."""

UNSOUND = {"matrix_exp", "meshgrid", "broadcast_tensors"} | {entry.op for entry in known("torch") if entry.op}
"""Ops that differ in PyTorch itself: no mutant has them, so that whatever is found is the mutant's own fault."""

Cotangents: TypeAlias = Sequence[np.ndarray | None]
Roots: TypeAlias = Sequence[torch.Tensor]


class Mutant(Torch):
    """PyTorch, less the ops that it gets wrong itself."""

    packages: ClassVar[Sequence[str]] = ("torch", "evaluation", "tests")
    """The framework with its fault: part of it stands in the mutant's own methods."""
    framework: ClassVar[str] = "torch"
    """The framework that it is made of, whose known differences are not its own."""
    fault: ClassVar[str]
    """The class's docstring."""
    killed_by: ClassVar[tuple[str, ...]] = ()
    """The rules of which one has to name it, the one that the fault is about first: its test is the first to run, and
    may meet another rule that the fault breaks, too.
    """
    longest: ClassVar[int] = 8
    """How many instructions the shrunk program may have."""
    why_long: ClassVar[str] = ""
    """Why the shrunk program has more than ten instructions, where it has."""
    flaky: ClassVar[bool] = False
    """Whether the same program may be judged otherwise the next time."""
    ops = Torch.ops - UNSOUND

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.fault = " ".join((cls.__doc__ or "").split())
        cls.name = "mutants/" + re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", cls.__name__).lower()

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.reset()

    def reset(self) -> None:
        """A new program: no leaves yet."""
        super().reset()
        self.leaves: list[torch.Tensor] = []

    def leaf(self, data: np.ndarray, requires_grad: bool) -> torch.Tensor:
        """A leaf, remembered."""
        made = super().leaf(data, requires_grad)
        self.leaves.append(made)
        return made

    def grads(self) -> list[torch.Tensor | None]:
        """A copy of what each leaf holds."""
        return [None if leaf.grad is None else leaf.grad.clone() for leaf in self.leaves]

    def set_grads(self, gradients: Sequence[torch.Tensor | None]) -> None:
        """Make each leaf hold what is given."""
        for leaf, gradient in zip(self.leaves, gradients, strict=True):
            leaf.grad = gradient


class Honest(Mutant):
    """Has no fault: whatever is found here is a false alarm."""


class Combining(Mutant):
    """A mutant whose fault is in what a leaf holds after a contribution: `combine` has the last word.

    It makes a new gradient each time, and so says nothing of adding in place or of hooks that look at the sum.
    """

    capabilities = Mutant.capabilities - {Capability.ADDS_IN_PLACE, Capability.ACCUMULATED_HOOKS}

    def combine(self, leaf: torch.Tensor, old: torch.Tensor | None, new: torch.Tensor | None) -> torch.Tensor | None:
        """What the leaf holds; here the truth."""
        return new if old is None else old if new is None else old + new

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        """A true backward call into leaves that hold nothing; then each old gradient meets its contribution."""
        old = [Torch.gradient(self, leaf) for leaf in self.leaves]
        self.set_grads([None] * len(old))
        try:
            super().backward(roots, cotangents, retain_graph, **options)
        finally:
            with torch.set_grad_enabled(bool(options.get("create_graph"))):
                made = [Torch.gradient(self, leaf) for leaf in self.leaves]
                self.set_grads(list(map(self.combine, self.leaves, old, made)))


class Recording(Mutant):
    """A mutant that knows how each value was made; `values` keeps them all alive, so that their ids stay their own."""

    def reset(self) -> None:
        """Nothing made yet."""
        super().reset()
        self.values: list[torch.Tensor] = []
        self.made: dict[int, tuple[str, Sequence[torch.Tensor], Attrs, int]] = {}

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        """An op, remembered."""
        made = super().apply(op, operands, attrs)
        self.values.extend(made)
        self.made.update({id(value): (op, operands, attrs, k) for k, value in enumerate(made)})
        return made


def gated(value: torch.Tensor, change: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """The same value; what flows back through this use of it passes `change`, and is a copy."""
    if not value.requires_grad:
        return value
    use = value.view_as(value)
    if not use.requires_grad:  # under no_grad nothing flows back
        return value
    use.register_hook(lambda contribution: None if contribution is None else change(contribution).clone())
    return use


def is_freed(error: RuntimeError) -> bool:
    """Whether PyTorch complains that a graph was freed."""
    return FREED in str(error)
