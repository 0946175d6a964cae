"""Mutants whose fault is found by comparing two related programs, without the right numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from autograd_conformance.programs.language import Attrs
from evaluation.mutants.mutant import Cotangents, Mutant, gated

Roots = Sequence[torch.Tensor]


class AddFavours(Mutant):
    """An add of two non-leaf values propagates half of the gradient to the second."""

    killed_by = ("relations/sum",)

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        if op == "add" and all(x.grad_fn for x in operands):
            operands = [operands[0], gated(operands[1], lambda g: g / 2)]
        return super().apply(op, operands, attrs)


class WalksOneRoot(Mutant):
    """A backward call on several roots uses only the first."""

    killed_by = ("relations/sum",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        super().backward(roots[:1], cotangents[:1], retain_graph, **options)


class ClipsCotangents(Mutant):
    """Cotangents are clipped to the range from -4 to 4."""

    killed_by = ("relations/scaling",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        clipped = [None if c is None else np.clip(c, -4, 4) for c in cotangents]
        super().backward(roots, clipped, retain_graph, **options)


class LosesUses(Mutant):
    """All uses of a non-leaf value after the first propagate no gradient."""

    killed_by = ("relations/sharing",)

    def reset(self) -> None:
        super().reset()
        self.used: list[torch.Tensor] = []

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        seen = [x.grad_fn is not None and any(x is y for y in self.used) for x in operands]
        self.used += operands
        operands = [gated(x, torch.zeros_like) if again else x for x, again in zip(operands, seen, strict=True)]
        return super().apply(op, operands, attrs)


class WeakensLater(Mutant):
    """Ops that are applied after the first backward call propagate half of the gradient."""

    killed_by = ("relations/order",)
    longest = 9

    def reset(self) -> None:
        super().reset()
        self.called = False

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        if self.called:
            operands = [gated(x, lambda g: g / 2) for x in operands]
        return super().apply(op, operands, attrs)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        super().backward(roots, cotangents, retain_graph, **options)
        self.called = True


class Tires(Mutant):
    """Each repeated backward call on a root has a contribution that is smaller by one part in a thousand."""

    killed_by = ("relations/repeated", "relations/sum")

    def reset(self) -> None:
        super().reset()
        self.walked: list[torch.Tensor] = []

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        times = sum(roots[0] is root for root in self.walked)
        self.walked.append(roots[0])
        given = [
            np.ones(tuple(root.shape), self.dtype(root)) if c is None and root.numel() == 1 else c
            for root, c in zip(roots, cotangents, strict=True)
        ]
        tired = [c if c is None else (c * 0.999**times).astype(c.dtype) for c in given]
        super().backward(roots, tired if times else cotangents, retain_graph, **options)


class CountsOps(Mutant):
    """Every fourth op of a program propagates twice the gradient."""

    killed_by = ("relations/interleaved", "relations/order")
    longest = 10  # three or four ops, each with its call

    def reset(self) -> None:
        super().reset()
        self.count = 0

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        self.count += 1
        if self.count % 4 == 0:
            operands = [gated(x, lambda g: g * 2) for x in operands]
        return super().apply(op, operands, attrs)
