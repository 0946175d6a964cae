"""Mutants whose fault occurs in training loops: a step, a clearing or a detach affects the next iteration."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import torch

from autograd_conformance.ops.rows.row import Certainty
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.language import Attrs
from evaluation.mutants.mutant import Combining, Cotangents, Mutant, Roots


class DerivesYesterday(Mutant):
    """Gradients are computed at the parameters' values before the last step."""

    killed_by = ("training/loop",)
    longest = 24
    why_long = "two rounds of a training loop"

    def reset(self) -> None:
        super().reset()
        self.old: dict[int, torch.Tensor] = {}

    def step(self, leaves: Roots, optimizer: str, settings: Attrs, **options: Any) -> None:
        self.old.update({id(leaf): leaf.detach().clone() for leaf in leaves if leaf.grad is not None})
        super().step(leaves, optimizer, settings, **options)

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        made = super().apply(op, operands, attrs)
        if not any(id(x) in self.old for x in operands) or op not in OPS or OPS[op].aliases is not Certainty.NEVER:
            return made
        behind = [x + (self.old[id(x)] - x).detach() if id(x) in self.old else x for x in operands]
        stale = super().apply(op, behind, attrs)
        return [s + (m - s).detach() for s, m in zip(stale, made, strict=True)]


class StepsUnseenLater(Mutant):
    """From the second step of a program on, the write check does not detect that a step changed parameters."""

    killed_by = ("training/loop", "writes/error-or-recorded")
    longest = 24
    why_long = "two rounds of a training loop"

    def reset(self) -> None:
        super().reset()
        self.steps = 0

    def step(self, leaves: Roots, optimizer: str, settings: Attrs, **options: Any) -> None:
        self.steps += 1
        with ExitStack() as stack:
            for leaf in leaves if self.steps > 1 else ():
                stack.enter_context(torch.autograd._unsafe_preserve_version_counter(leaf))
            super().step(leaves, optimizer, settings, **options)


class ZerosSparingly(Mutant):
    """An optimizer's clearing to zeros skips gradients with an element whose magnitude exceeds 1."""

    killed_by = ("optimizers/clears",)
    longest = 12
    why_long = "a round of a training loop and the next one's backward call"

    def clear(self, leaves: Roots, optimizer: str, settings: Attrs, set_to_none: bool, **options: Any) -> None:
        spared = [leaf for leaf in leaves if leaf.grad is not None and not set_to_none and (leaf.grad.abs() > 1).any()]
        kept = [leaf.grad.clone() for leaf in spared if leaf.grad is not None]
        super().clear(leaves, optimizer, settings, set_to_none, **options)
        with torch.no_grad():
            for leaf, gradient in zip(spared, kept, strict=True):
                assert leaf.grad is not None
                leaf.grad.copy_(gradient)


class ForgetsTheThird(Combining):
    """The third contribution to a leaf since its last clearing to None is lost."""

    killed_by = ("training/micro-batches", "training/losses", "accumulation/adds")
    longest = 24
    why_long = "three rounds of a training loop"

    def reset(self) -> None:
        super().reset()
        self.parts: dict[int, int] = {}

    def combine(self, leaf: torch.Tensor, old: torch.Tensor | None, new: torch.Tensor | None) -> torch.Tensor | None:
        if new is None:
            return old
        self.parts[id(leaf)] = 1 if old is None else self.parts.get(id(leaf), 0) + 1
        return old if self.parts[id(leaf)] == 3 else super().combine(leaf, old, new)


class DetachLeaksOnMeeting(Mutant):
    """An op of a detached value and one that requires grad propagates gradients to the detached value's source."""

    killed_by = ("detach/blocks",)
    longest = 12
    why_long = "two networks, one of them detached"

    def reset(self) -> None:
        super().reset()
        self.sources: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def detach(self, value: torch.Tensor) -> torch.Tensor:
        made = super().detach(value)
        self.sources[id(made)] = made, value
        return made

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        if any(x.requires_grad for x in operands):
            operands = [self.sources[id(x)][1] if id(x) in self.sources else x for x in operands]
        return super().apply(op, operands, attrs)


class KeepsOldGradients(Mutant):
    """After an optimizer cleared gradients to None, its next step still uses the cleared gradients."""

    killed_by = ("optimizers/skips", "optimizers/clears", "training/loop")
    longest = 16
    why_long = "a round of a training loop and the next one's step"

    def reset(self) -> None:
        super().reset()
        self.cleared: dict[int, torch.Tensor] = {}

    def clear(self, leaves: Roots, optimizer: str, settings: Attrs, set_to_none: bool, **options: Any) -> None:
        self.cleared.update({id(leaf): leaf.grad.detach().clone() for leaf in leaves if leaf.grad is not None})
        super().clear(leaves, optimizer, settings, set_to_none, **options)

    def step(self, leaves: Roots, optimizer: str, settings: Attrs, **options: Any) -> None:
        without = [leaf for leaf in leaves if leaf.grad is None and id(leaf) in self.cleared]
        for leaf in without:
            leaf.grad = self.cleared.pop(id(leaf))
        super().step(leaves, optimizer, settings, **options)
        for leaf in without:
            leaf.grad = None


class ClipsTwice(Mutant):
    """Clipping by norm scales gradients twice."""

    killed_by = ("optimizers/clips",)
    longest = 12
    why_long = "a network, its loss and a step"

    def clip(self, leaves: Roots, kind: str, bound: float) -> None:
        gradients = [leaf.grad.detach().clone() for leaf in leaves if leaf.grad is not None]
        super().clip(leaves, kind, bound)
        total = torch.sqrt(sum((g.double().square().sum() for g in gradients), torch.zeros((), dtype=torch.float64)))
        if kind == "norm" and float(total) > bound:
            with torch.no_grad():
                for leaf in leaves:
                    if leaf.grad is not None:
                        leaf.grad.mul_(bound / float(total))


class DecaysFrozen(Mutant):
    """A step shrinks frozen parameters, as weight decay would."""

    killed_by = ("training/loop", "optimizers/skips")
    longest = 14
    why_long = "a network with a frozen part, its loss and a step"

    def step(self, leaves: Roots, optimizer: str, settings: Attrs, **options: Any) -> None:
        super().step(leaves, optimizer, settings, **options)
        with torch.no_grad():
            for leaf in leaves:
                if not leaf.requires_grad and leaf.grad is None:
                    leaf.mul_(0.75)


class FreesTheSecondKept(Mutant):
    """The second backward call of a program with retain_graph=True frees the graph."""

    killed_by = ("lifetime/retained-works", "training/losses", "errors/legal-returns")
    longest = 14
    why_long = "three backward calls of a loop"

    def reset(self) -> None:
        super().reset()
        self.retained = 0

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        self.retained += bool(retain_graph)
        forgets = self.retained == 2 and not options.get("create_graph")
        super().backward(roots, cotangents, False if forgets else retain_graph, **options)


class CountsSteps(Mutant):
    """Every third step of a program is made twice, counted over all optimizers."""

    killed_by = ("training/apart", "optimizers/remembers", "optimizers/formula")
    longest = 40
    why_long = "three rounds of a training loop"

    def reset(self) -> None:
        super().reset()
        self.count = 0

    def step(self, leaves: Roots, optimizer: str, settings: Attrs, **options: Any) -> None:
        self.count += 1
        for _ in range(1 + (self.count % 3 == 0)):
            super().step(leaves, optimizer, settings, **options)
