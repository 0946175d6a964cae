"""Faults of optimizers and of clipping."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograd_conformance.programs.language import Attrs, Groups
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import held_by, leaf_of

_QUICK = ("betas", (0.5, 0.75))


def _stepped(
    a: Any, name: str, settings: Attrs, gradients: Sequence[Any], steps: int = 2, dtypes: str = "dd", **more: Any
) -> list:
    """The values of leaves after some steps with constant gradients."""
    kinds = {"d": "float64", "f": "float32"}
    leaves = [leaf_of(a, [1.0, 2.0], kinds[d]) for d, _ in zip(dtypes, gradients, strict=False)]
    for _ in range(steps):
        for leaf, gradient, d in zip(leaves, gradients, dtypes, strict=False):
            a.assign_grad(leaf, None if gradient is None else leaf_of(a, gradient, kinds[d], grad=False))
        a.step(leaves, name, settings, **more)
    return [a.read(leaf).tolist() for leaf in leaves]


class FusedDecaysApart(Fault):
    """Fused Adam applies the weight decay to the leaf itself, as AdamW does, instead of adding it to the gradient:
    FlagGems' _fused_adam, #4988.
    """

    rule = "optimizers/variants"

    def optimizer(self, leaves: Sequence[Tensor], optimizer: str, settings: Attrs, groups: Groups = ()) -> Any:
        given = dict(settings)
        if optimizer == "adam" and given.get("fused") and given.get("weight_decay"):
            return super().optimizer(leaves, "adamw", settings, groups)
        return super().optimizer(leaves, optimizer, settings, groups)


def witness_FusedDecaysApart(a: Any) -> Any:
    settings: Attrs = (("lr", 0.125), _QUICK, ("weight_decay", 0.25), ("fused", True))
    return _stepped(a, "adam", settings, [[0.5, -1.0], [2.0, 0.25]])


class DecayForEachDtype(Fault):
    """AdamW that updates all leaves at once decays them once for each of their dtypes: timm's SGDW, #2750."""

    rule = "optimizers/variants"

    def step(self, leaves: Sequence[Tensor], optimizer: str, settings: Attrs, groups: Groups = ()) -> None:
        if optimizer == "adamw" and dict(settings).get("foreach"):
            for group in self.optimizer(leaves, optimizer, settings, groups).param_groups:
                moved = [leaf for leaf in group["params"] if leaf.grad is not None]
                extra = len({leaf.dtype for leaf in moved}) - 1
                with torch.no_grad():
                    for leaf in moved if extra > 0 else []:
                        leaf.mul_((1 - group["lr"] * group["weight_decay"]) ** extra)
        super().step(leaves, optimizer, settings, groups)


def witness_DecayForEachDtype(a: Any) -> Any:
    settings: Attrs = (("lr", 0.125), _QUICK, ("weight_decay", 0.25), ("foreach", True))
    return _stepped(a, "adamw", settings, [[0.5, -1.0], [2.0, 0.25]], dtypes="df")


class RateIsRemembered(Fault):
    """Adam remembers the step size of a step's number, which includes the learning rate, and so uses that of the first
    group for all groups with its betas: RAdam's buffer in Ranger, #9.
    """

    rule = "optimizers/groups"

    def step(self, leaves: Sequence[Tensor], optimizer: str, settings: Attrs, groups: Groups = ()) -> None:
        made = self.optimizer(leaves, optimizer, settings, groups)
        if optimizer in ("adam", "adamw"):
            first = made.param_groups[0]
            for group in made.param_groups[1:]:
                if group["betas"] == first["betas"]:
                    group["lr"] = first["lr"]
        super().step(leaves, optimizer, settings, groups)


def witness_RateIsRemembered(a: Any) -> Any:
    groups: Groups = ((1, ()), (1, (("lr", 0.5),)))
    return _stepped(a, "adam", (("lr", 0.125), _QUICK), [[0.5, -1.0], [2.0, 0.25]], groups=groups)


class StepsOfAllLeaves(Fault):
    """Adam corrects its bias by the number of updates of all leaves, not of steps: DiffSharp's Adam, #292."""

    rule = "optimizers/formula"

    def step(self, leaves: Sequence[Tensor], optimizer: str, settings: Attrs, groups: Groups = ()) -> None:
        made = self.optimizer(leaves, optimizer, settings, groups)
        if optimizer in ("adam", "adamw"):
            count = getattr(made, "updates", 0)
            for group in made.param_groups:
                for leaf in group["params"]:
                    if leaf.grad is None:
                        continue
                    state = made.state[leaf]
                    if not state:
                        names = ["exp_avg", "exp_avg_sq", *(["max_exp_avg_sq"] if group["amsgrad"] else [])]
                        state.update({name: torch.zeros_like(leaf) for name in names})
                    state["step"] = torch.tensor(float(count), dtype=torch.float32)
                    count += 1
            made.updates = count
        super().step(leaves, optimizer, settings, groups)


def witness_StepsOfAllLeaves(a: Any) -> Any:
    return _stepped(a, "adam", (("lr", 0.125), _QUICK), [[0.5, -1.0], [2.0, 0.25]])


class ClippingZeros(Fault):
    """Clipping gradients that are all zero by their norm makes them NaN: TensorFlow's clip_by_norm, #22048."""

    rule = "optimizers/clips"

    def clip(self, leaves: Sequence[Tensor], kind: str, bound: float) -> None:
        super().clip(leaves, kind, bound)
        held = [leaf.grad for leaf in leaves if leaf.grad is not None]
        if kind == "norm" and not any(bool((g != 0).any()) for g in held):
            for g in held:
                g.detach().div_(0)


def witness_ClippingZeros(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    a.assign_grad(x, leaf_of(a, [0.0, 0.0], grad=False))
    a.clip([x], "norm", 1.0)
    return held_by(a, x)


class ClearsFirstGroup(Fault):
    """Clearing gradients through an optimizer to zeros clears only those of its first group."""

    rule = "optimizers/clears"

    def clear(
        self, leaves: Sequence[Tensor], optimizer: str, settings: Attrs, set_to_none: bool, groups: Groups = ()
    ) -> None:
        kept = [] if set_to_none else self.optimizer(leaves, optimizer, settings, groups).param_groups[1:]
        held = [(leaf, leaf.grad.clone()) for group in kept for leaf in group["params"] if leaf.grad is not None]
        super().clear(leaves, optimizer, settings, set_to_none, groups)
        for leaf, gradient in held:
            leaf.grad = gradient.detach()


def witness_ClearsFirstGroup(a: Any) -> Any:
    leaves, groups = [leaf_of(a, [1.0]), leaf_of(a, [2.0])], ((1, ()), (1, (("lr", 0.5),)))
    for leaf in leaves:
        a.assign_grad(leaf, leaf_of(a, [1.0], grad=False))
    a.optimizer(leaves, "sgd", (("lr", 0.125),), groups)
    a.clear(leaves, "sgd", (("lr", 0.125),), False, groups)
    return held_by(a, *leaves)


class MomentumIsGradient(Fault):
    """The first momentum buffer of SGD without weight decay is the gradient tensor itself, which later calls add to."""

    rule = "optimizers/remembers"

    def step(self, leaves: Sequence[Tensor], optimizer: str, settings: Attrs, groups: Groups = ()) -> None:
        made = self.optimizer(leaves, optimizer, settings, groups)
        fresh = [(g, x) for g in made.param_groups for x in g["params"] if x.grad is not None and not made.state.get(x)]
        super().step(leaves, optimizer, settings, groups)
        for group, leaf in fresh if optimizer == "sgd" else []:
            if group["momentum"] and not group["weight_decay"] and not group["maximize"]:
                made.state[leaf]["momentum_buffer"] = leaf.grad.detach()


def witness_MomentumIsGradient(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    settings: Attrs = (("lr", 0.125), ("momentum", 0.5))
    a.assign_grad(x, leaf_of(a, [0.5, -1.0], grad=False))
    a.step([x], "sgd", settings)
    a.zero_grad([x], False)
    a.gradient(x).add_(1)
    a.step([x], "sgd", settings)
    return a.read(x).tolist()


class SkippedLeafAges(Fault):
    """Adagrad with a decay of its rate counts a step also for a leaf that the step skips."""

    rule = "optimizers/skips"

    def step(self, leaves: Sequence[Tensor], optimizer: str, settings: Attrs, groups: Groups = ()) -> None:
        made = self.optimizer(leaves, optimizer, settings, groups)
        for group in made.param_groups if optimizer == "adagrad" else []:
            for leaf in group["params"]:
                if leaf.grad is None:
                    made.state[leaf]["step"] += 1
        super().step(leaves, optimizer, settings, groups)


def witness_SkippedLeafAges(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    settings: Attrs = (("lr", 0.125), ("lr_decay", 0.5))
    a.step([x], "adagrad", settings)
    a.assign_grad(x, leaf_of(a, [0.5, -1.0], grad=False))
    a.step([x], "adagrad", settings)
    return a.read(x).tolist()
