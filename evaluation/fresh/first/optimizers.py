"""Faults of optimizers, and of clipping."""

from __future__ import annotations

import math

import numpy as np
import torch

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, held_by, leaf_of, total


def _trained(a, optimizer, settings, which=((0, 1), (0, 1)), scale=(1.0, 1.0)):
    leaves = [leaf_of(a, [1.0, -2.0]), leaf_of(a, [0.5])]
    for used, factor in zip(which, scale):
        a.zero_grad(leaves, True)
        for k in used:
            y = applied(a, "square", leaves[k])
            a.backward([y], [np.full(len(a.read(y)), factor)], None)
        a.step(leaves, optimizer, settings)
    return [a.read(leaf).tolist() for leaf in leaves]


class OneStepCountForAll(Fault):
    """Adam corrects its averages by the number of the optimizer's steps instead of the steps that updated the leaf."""

    rule = "optimizers/remembers"

    def reset(self):
        super().reset()
        self.steps: dict[int, int] = {}

    def step(self, leaves, optimizer, settings, groups=()):
        made = self.optimizer(leaves, optimizer, settings, groups)
        before = self.steps.get(id(made), 0)
        if optimizer in ("adam", "adamw"):
            for group in made.param_groups:
                for p in group["params"]:
                    state = made.state.get(p, {})
                    if p.grad is None or (not state and before == 0):
                        continue
                    if not state:
                        state = made.state[p]
                        state["exp_avg"] = torch.zeros_like(p)
                        state["exp_avg_sq"] = torch.zeros_like(p)
                        if group["amsgrad"]:
                            state["max_exp_avg_sq"] = torch.zeros_like(p)
                        where = p.device if group.get("fused") or group.get("capturable") else "cpu"
                        state["step"] = torch.tensor(0.0, dtype=torch.float32, device=where)
                    state["step"].fill_(float(before))
        super().step(leaves, optimizer, settings, groups)
        self.steps[id(made)] = before + 1


def witness_OneStepCountForAll(a):
    x, y = leaf_of(a, [1.0, 2.0]), leaf_of(a, [3.0, 4.0])
    for loss in (lambda: total(a, applied(a, "square", x)), lambda: total(a, applied(a, "multiply", x, y))):
        a.backward([loss()], [None], None)
        a.step([x, y], "adam", (("lr", 0.1),))
    return a.read(x).tolist(), a.read(y).tolist()


class AdamSharedStep(Fault):
    """Adam counts steps for a whole parameter group: a leaf that joins late has its averages corrected for steps that
    it did not take.
    """

    rule = "optimizers/remembers"

    def step(self, leaves, optimizer, settings, groups=()):
        if optimizer == "adam":
            made = self.optimizer(leaves, optimizer, settings, groups)
            for group in made.param_groups:
                taken = max([float(made.state[p]["step"]) for p in group["params"] if made.state.get(p)], default=0.0)
                for leaf in group["params"]:
                    if leaf.grad is None or taken == 0.0:
                        continue
                    state = made.state[leaf]
                    if not state:
                        names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")[: 3 if group["amsgrad"] else 2]
                        state.update({name: torch.zeros_like(leaf, requires_grad=False) for name in names})
                    state["step"] = torch.tensor(taken)
        super().step(leaves, optimizer, settings, groups)


def witness_AdamSharedStep(a):
    return _trained(a, "adam", (("lr", 0.125), ("betas", (0.5, 0.75))), ((0,), (0, 1)))


class ZeroIsNoSetting(Fault):
    """A parameter group's own setting is read with `or`: if it is zero or false, the optimizer's default is used."""

    rule = "optimizers/groups"

    def optimizer(self, leaves, optimizer, settings, groups=()):
        cut = tuple((count, tuple((k, v) for k, v in own if v)) for count, own in groups)
        return super().optimizer(leaves, optimizer, settings, cut)


def witness_ZeroIsNoSetting(a):
    x, y = leaf_of(a, [1.0, 2.0]), leaf_of(a, [3.0, 4.0])
    a.backward([total(a, applied(a, "multiply", x, y))], [None], None)
    settings = (("lr", 0.1), ("weight_decay", 0.5))
    a.step([x, y], "sgd", settings, ((1, ()), (1, (("weight_decay", 0.0),))))
    return a.read(x).tolist(), a.read(y).tolist()


class AmsgradForeach(Fault):
    """Adam and AdamW ignore amsgrad with foreach."""

    rule = "optimizers/variants"

    def optimizer(self, leaves, optimizer, settings, groups=()):
        made = super().optimizer(leaves, optimizer, settings, groups)
        if optimizer in ("adam", "adamw"):
            for group in made.param_groups:
                if group.get("foreach"):
                    group["amsgrad"] = False
        return made


def witness_AmsgradForeach(a):
    settings = (("lr", 0.125), ("betas", (0.5, 0.75)), ("amsgrad", True), ("foreach", True))
    return _trained(a, "adam", settings, scale=(8.0, 0.125))


class SgdFirstDampened(Fault):
    """SGD starts its momentum at zero, so that dampening also applies to the first step."""

    rule = "optimizers/formula"

    def step(self, leaves, optimizer, settings, groups=()):
        if optimizer == "sgd":
            made = self.optimizer(leaves, optimizer, settings, groups)
            for group in made.param_groups:
                if group["momentum"] and group["dampening"]:
                    for leaf in group["params"]:
                        if leaf.grad is not None and made.state[leaf].get("momentum_buffer") is None:
                            made.state[leaf]["momentum_buffer"] = torch.zeros_like(leaf, requires_grad=False)
        super().step(leaves, optimizer, settings, groups)


def witness_SgdFirstDampened(a):
    return _trained(a, "sgd", (("lr", 0.125), ("momentum", 0.5), ("dampening", 0.5)))


class AdamwDecaysAfter(Fault):
    """AdamW decays the weights after the update, and so decays the update too."""

    rule = "optimizers/formula"

    def step(self, leaves, optimizer, settings, groups=()):
        if optimizer != "adamw":
            super().step(leaves, optimizer, settings, groups)
            return
        made = self.optimizer(leaves, optimizer, settings, groups)
        decays = [group["weight_decay"] for group in made.param_groups]
        for group in made.param_groups:
            group["weight_decay"] = 0.0
        try:
            super().step(leaves, optimizer, settings, groups)
        finally:
            for group, decay in zip(made.param_groups, decays):
                group["weight_decay"] = decay
        with torch.no_grad():
            for group, decay in zip(made.param_groups, decays):
                for leaf in group["params"]:
                    if leaf.grad is not None and decay:
                        leaf.mul_(1 - group["lr"] * decay)


def witness_AdamwDecaysAfter(a):
    return _trained(a, "adamw", (("lr", 0.125), ("weight_decay", 0.25)))


class AdagradDecaysEarly(Fault):
    """Adagrad's lr_decay counts the current step, so that it already applies to the first step."""

    rule = "optimizers/formula"

    def step(self, leaves, optimizer, settings, groups=()):
        if optimizer != "adagrad":
            super().step(leaves, optimizer, settings, groups)
            return
        made = self.optimizer(leaves, optimizer, settings, groups)
        moved = [p for g in made.param_groups for p in g["params"] if p.grad is not None]
        for leaf in moved:
            made.state[leaf]["step"] += 1
        try:
            super().step(leaves, optimizer, settings, groups)
        finally:
            for leaf in moved:
                made.state[leaf]["step"] -= 1


def witness_AdagradDecaysEarly(a):
    return _trained(a, "adagrad", (("lr", 0.125), ("lr_decay", 0.5)))


class RmspropCenteredEps(Fault):
    """Centered RMSprop adds eps under the root."""

    rule = "optimizers/formula"

    def step(self, leaves, optimizer, settings, groups=()):
        held = []
        if optimizer == "rmsprop":
            made = self.optimizer(leaves, optimizer, settings, groups)
            for group in made.param_groups:
                for leaf in group["params"] if group["centered"] else ():
                    if leaf.grad is not None:
                        self._move(leaf, made.state[leaf], group)
                        held.append((leaf, leaf.grad))
                        leaf.grad = None
        try:
            super().step(leaves, optimizer, settings, groups)
        finally:
            for leaf, gradient in held:
                leaf.grad = gradient

    @staticmethod
    @torch.no_grad()
    def _move(leaf, state, group):
        g = -leaf.grad if group["maximize"] else leaf.grad
        if group["weight_decay"]:
            g = g + group["weight_decay"] * leaf
        for name in ("square_avg", "grad_avg", "momentum_buffer"):
            state.setdefault(name, torch.zeros_like(leaf))
        state["step"] = state.get("step", torch.tensor(0.0)) + 1
        alpha = group["alpha"]
        square = state["square_avg"].mul_(alpha).addcmul_(g, g, value=1 - alpha)
        mean = state["grad_avg"].lerp_(g, 1 - alpha)
        root = torch.sqrt(square - mean * mean + group["eps"])
        if group["momentum"]:
            leaf.add_(state["momentum_buffer"].mul_(group["momentum"]).add_(g / root), alpha=-group["lr"])
        else:
            leaf.add_(g / root, alpha=-group["lr"])


def witness_RmspropCenteredEps(a):
    return _trained(a, "rmsprop", (("lr", 0.0625), ("alpha", 0.75), ("eps", 0.125), ("centered", True)))


class ClipEnlarges(Fault):
    """Clipping by norm scales gradients to the bound even if their norm is smaller."""

    rule = "optimizers/clips"

    def clip(self, leaves, kind, bound):
        if kind != "norm":
            super().clip(leaves, kind, bound)
            return
        with torch.no_grad():
            there = [leaf.grad.detach() for leaf in leaves if leaf.grad is not None]
            total = math.sqrt(sum(float(torch.sum(g.double() ** 2)) for g in there))
            for g in there:
                g.mul_(bound / (total + 1e-6))


def witness_ClipEnlarges(a):
    x = leaf_of(a, [0.5, 0.25])
    a.backward([applied(a, "square", x)], [np.ones(2)], None)
    a.clip([x], "norm", 10.0)
    return held_by(a, x)
