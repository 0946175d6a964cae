"""Mutants whose fault is in optimizers: steps, state, parameter groups, clearing or clipping."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from autograd_conformance.programs.language import Attrs, Groups
from evaluation.mutants.mutant import Mutant, Roots


class GroupsIgnored(Mutant):
    """An optimizer ignores the settings of its parameter groups."""

    killed_by = ("optimizers/groups",)

    def optimizer(self, leaves: Roots, optimizer: str, settings: Attrs, groups: Groups = ()) -> torch.optim.Optimizer:
        return super().optimizer(leaves, optimizer, settings)


class LastGroupForgotten(Mutant):
    """A step does not update the leaves of the last of several parameter groups."""

    killed_by = ("optimizers/groups", "optimizers/formula", "optimizers/variants")

    def step(self, leaves: Roots, optimizer: str, settings: Attrs, groups: Groups = ()) -> None:
        unmoved = leaves[len(leaves) - groups[-1][0] :] if len(groups) > 1 else ()
        old = [leaf.detach().clone() for leaf in unmoved]
        super().step(leaves, optimizer, settings, groups)
        for leaf, value in zip(unmoved, old, strict=True):
            leaf.data.copy_(value)


class SkippedAsZero(Mutant):
    """A step treats a missing gradient as zeros if the leaf was updated before, instead of skipping the leaf."""

    killed_by = ("optimizers/skips",)

    def step(self, leaves: Roots, optimizer: str, settings: Attrs, **options: Any) -> None:
        known = self.optimizer(leaves, optimizer, settings, **options).state
        unmoved = [leaf for leaf in leaves if leaf.grad is None and leaf in known]
        for leaf in unmoved:
            leaf.grad = torch.zeros_like(leaf)
        super().step(leaves, optimizer, settings, **options)
        for leaf in unmoved:
            leaf.grad = None


class SkippedForgets(Mutant):
    """A step that skips a leaf without a gradient discards the leaf's optimizer state."""

    killed_by = ("optimizers/skips",)

    def step(self, leaves: Roots, optimizer: str, settings: Attrs, **options: Any) -> None:
        known = self.optimizer(leaves, optimizer, settings, **options).state
        super().step(leaves, optimizer, settings, **options)
        for leaf in leaves:
            if leaf.grad is None and optimizer != "adagrad":
                known.pop(leaf, None)


class StaleGradient(Mutant):
    """From the second step on, a leaf is updated by the gradient of the previous step."""

    killed_by = ("optimizers/remembers",)

    def step(self, leaves: Roots, optimizer: str, settings: Attrs, **options: Any) -> None:
        given = [leaf.grad for leaf in leaves]
        for leaf in leaves:
            old = self.gradients.get(id(leaf))
            if leaf.grad is not None:
                self.gradients[id(leaf)] = leaf.grad.detach().clone()
                leaf.grad = leaf.grad if old is None else old
        super().step(leaves, optimizer, settings, **options)
        for leaf, gradient in zip(leaves, given, strict=True):
            leaf.grad = gradient

    def reset(self) -> None:
        super().reset()
        self.gradients: dict[int, torch.Tensor] = {}


class CorrectsBiasOnce(Mutant):
    """Adam's bias correction is that of the first step in every step."""

    killed_by = ("optimizers/remembers",)

    def step(self, leaves: Roots, optimizer: str, settings: Attrs, **options: Any) -> None:
        for state in self.optimizer(leaves, optimizer, settings, **options).state.values():
            if "exp_avg" in state:
                state["step"].zero_()
        super().step(leaves, optimizer, settings, **options)


class _Changing(Mutant):
    """A mutant that makes an optimizer of another name or with other settings."""

    @staticmethod
    def changed(optimizer: str, settings: dict[str, Any]) -> str:
        raise NotImplementedError

    def optimizer(self, leaves: Roots, optimizer: str, settings: Attrs, groups: Groups = ()) -> torch.optim.Optimizer:
        own = dict(settings)
        name = self.changed(optimizer, own)
        inside = tuple((count, tuple(pairs for pairs in given if pairs[0] in own or name == optimizer))
                       for count, given in groups)  # fmt: skip
        return super().optimizer(leaves, name, tuple(own.items()), inside)


class DecaysCoupled(_Changing):
    """AdamW's weight decay is coupled with the averages, as in Adam."""

    killed_by = ("optimizers/formula",)

    @staticmethod
    def changed(optimizer: str, settings: dict[str, Any]) -> str:
        if optimizer == "adamw":
            settings.setdefault("weight_decay", 0.01)
        return "adam" if optimizer == "adamw" else optimizer


class MaximizeIgnored(_Changing):
    """An optimizer ignores maximize=True and minimises."""

    killed_by = ("optimizers/formula",)

    @staticmethod
    def changed(optimizer: str, settings: dict[str, Any]) -> str:
        settings.pop("maximize", None)
        return optimizer


class MinimizesUnrecorded(Mutant):
    """A step inside no_grad minimises, although its settings say maximize=True. Only recorded and crossed programs put
    such a step there.
    """

    killed_by = ("optimizers/formula",)

    def step(self, leaves: Roots, optimizer: str, settings: Attrs, **options: Any) -> None:
        groups = self.optimizer(leaves, optimizer, settings, **options).param_groups
        given = [group["maximize"] for group in groups]
        for group in groups if not torch.is_grad_enabled() else ():
            group["maximize"] = False
        super().step(leaves, optimizer, settings, **options)
        for group, maximize in zip(groups, given, strict=True):
            group["maximize"] = maximize


class FusedWithoutDecay(_Changing):
    """The fused and foreach implementations leave out weight decay."""

    killed_by = ("optimizers/variants",)

    @staticmethod
    def changed(optimizer: str, settings: dict[str, Any]) -> str:
        if settings.get("fused") or settings.get("foreach"):
            settings["weight_decay"] = 0.0
        return optimizer


class NesterovAsMomentum(_Changing):
    """An optimizer ignores nesterov=True and uses plain momentum."""

    killed_by = ("optimizers/formula", "optimizers/remembers")

    @staticmethod
    def changed(optimizer: str, settings: dict[str, Any]) -> str:
        settings.pop("nesterov", None)
        return optimizer


class StepsInFloat32(Mutant):
    """A step rounds the leaves that it updates to float32."""

    killed_by = ("optimizers/formula",)

    def step(self, leaves: Roots, optimizer: str, settings: Attrs, **options: Any) -> None:
        super().step(leaves, optimizer, settings, **options)
        for leaf in leaves:
            if leaf.grad is not None:
                leaf.data.copy_(leaf.data.float())


class EatsGradients(Mutant):
    """A step sets the gradients that it used to zeros."""

    killed_by = ("optimizers/keeps-gradients",)

    def step(self, leaves: Roots, optimizer: str, settings: Attrs, **options: Any) -> None:
        super().step(leaves, optimizer, settings, **options)
        for leaf in leaves:
            if leaf.grad is not None:
                leaf.grad.detach().zero_()


class ClearsFirstGroup(Mutant):
    """An optimizer's zero_grad clears the gradient of its first leaf only."""

    killed_by = ("optimizers/clears",)

    def clear(self, leaves: Roots, optimizer: str, settings: Attrs, set_to_none: bool, **options: Any) -> None:
        self.zero_grad(leaves[:1], set_to_none)


class StepsClearToZeros(Mutant):
    """An optimizer's zero_grad clears to zeros even with set_to_none=True."""

    killed_by = ("optimizers/clears",)

    def clear(self, leaves: Roots, optimizer: str, settings: Attrs, set_to_none: bool, **options: Any) -> None:
        super().clear(leaves, optimizer, settings, False, **options)


class ClipsEachLeaf(Mutant):
    """Clipping by norm clips each leaf's own norm instead of the total norm."""

    killed_by = ("optimizers/clips",)

    def clip(self, leaves: Sequence[torch.Tensor], kind: str, bound: float) -> None:
        for leaf in leaves:
            super().clip([leaf], kind, bound)


class ClipsUp(Mutant):
    """Clipping by norm scales gradients up if their norm is below the bound."""

    killed_by = ("optimizers/clips",)

    def clip(self, leaves: Sequence[torch.Tensor], kind: str, bound: float) -> None:
        if kind != "norm":
            return super().clip(leaves, kind, bound)
        held = [leaf.grad for leaf in leaves if leaf.grad is not None]
        total = sum(float((gradient.detach() ** 2).sum()) for gradient in held) ** 0.5
        for gradient in held:
            gradient.detach().mul_(bound / (total + 1e-6))
        return None


class ClipsOneSide(Mutant):
    """Clipping by value does not clip elements below minus the bound."""

    killed_by = ("optimizers/clips",)

    def clip(self, leaves: Sequence[torch.Tensor], kind: str, bound: float) -> None:
        if kind == "norm":
            return super().clip(leaves, kind, bound)
        for leaf in leaves:
            if leaf.grad is not None:
                leaf.grad.detach().clamp_(max=bound)
        return None
