"""Mutants whose fault is in random ops."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from autograd_conformance.programs.language import Attrs
from evaluation.mutants.mutant import Mutant


class IgnoresSeeds(Mutant):
    """Random ops ignore the seed: repeated ops with one seed draw different numbers."""

    killed_by = ("networks/random",)

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        if "seed" in dict(attrs):
            self.draws += 1
            attrs = tuple((key, value + self.draws if key == "seed" else value) for key, value in attrs)  # type: ignore[operator]
        return super().apply(op, operands, attrs)

    def reset(self) -> None:
        super().reset()
        self.draws = 0


class DropoutUnscaled(Mutant):
    """Dropout does not scale the elements that it keeps."""

    killed_by = ("networks/random",)

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        made = super().apply(op, operands, attrs)
        return [y * (1 - dict(attrs)["p"]) for y in made] if op == "dropout" else made  # type: ignore[operator]


class DropoutLeaks(Mutant):
    """Dropout propagates gradients to the elements that it dropped."""

    killed_by = ("networks/random", "gradients/graph", "gradients/op")

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        (made, *more) = super().apply(op, operands, attrs)
        if op != "dropout" or not operands[0].requires_grad:
            return (made, *more)
        kept = operands[0] / (1 - dict(attrs)["p"])  # type: ignore[operator]
        return (made.detach() + kept - kept.detach(),)
