"""Faults of optimizers and of clipping."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograd_conformance.programs.language import Attrs, Groups
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import held_by, leaf_of


class AdamCountsForAll(Fault):
    """Adam and AdamW count their steps for all leaves together, so that the bias correction of a leaf that joins late
    is too small.
    """

    rule = "optimizers/remembers"

    def reset(self) -> None:
        super().reset()
        self.steps: dict[int, int] = {}

    def step(self, leaves: Sequence[Tensor], optimizer: str, settings: Attrs, groups: Groups = ()) -> None:
        if optimizer in ("adam", "adamw"):
            made = self.optimizer(leaves, optimizer, settings, groups)
            done = self.steps.get(id(made), 0)
            self.steps[id(made)] = done + 1
            for group in made.param_groups:
                for leaf in [x for x in group["params"] if x.grad is not None and done]:
                    state = made.state[leaf]
                    if not state:
                        state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(leaf), torch.zeros_like(leaf)
                        if group["amsgrad"]:
                            state["max_exp_avg_sq"] = torch.zeros_like(leaf)
                    state["step"] = torch.tensor(float(done))
        super().step(leaves, optimizer, settings, groups)


def witness_AdamCountsForAll(a: Any) -> Any:
    x, y = leaf_of(a, [1.0]), leaf_of(a, [2.0])
    for each in ([x], [x, y]):
        for leaf in each:
            a.assign_grad(leaf, leaf_of(a, [0.5], grad=False))
        a.step([x, y], "adam", (("lr", 0.5),))
    return a.read(x).tolist(), a.read(y).tolist()


class FirstStepDampened(Fault):
    """SGD's momentum starts at zero, so that dampening also applies to the first gradient."""

    rule = "optimizers/formula"

    def step(self, leaves: Sequence[Tensor], optimizer: str, settings: Attrs, groups: Groups = ()) -> None:
        if optimizer == "sgd":
            made = self.optimizer(leaves, optimizer, settings, groups)
            for group in made.param_groups:
                if group["momentum"] and group["dampening"]:
                    for leaf in (x for x in group["params"] if x.grad is not None):
                        if made.state[leaf].get("momentum_buffer") is None:
                            made.state[leaf]["momentum_buffer"] = torch.zeros_like(leaf)
        super().step(leaves, optimizer, settings, groups)


def witness_FirstStepDampened(a: Any) -> Any:
    x = leaf_of(a, [1.0])
    a.assign_grad(x, leaf_of(a, [0.5], grad=False))
    a.step([x], "sgd", (("lr", 0.5), ("momentum", 0.5), ("dampening", 0.5)))
    return a.read(x).tolist()


class GroupsInherit(Fault):
    """A parameter group without a setting inherits it from the previous group instead of the optimizer."""

    rule = "optimizers/groups"

    def optimizer(
        self, leaves: Sequence[Tensor], optimizer: str, settings: Attrs, groups: Groups = ()
    ) -> torch.optim.Optimizer:
        before: dict[str, Any] = {}
        inherited = []
        for count, own in groups:
            before = {**before, **dict(own)}
            inherited.append((count, tuple(before.items())))
        return super().optimizer(leaves, optimizer, settings, tuple(inherited))


def witness_GroupsInherit(a: Any) -> Any:
    x, y = leaf_of(a, [1.0]), leaf_of(a, [2.0])
    for leaf in (x, y):
        a.assign_grad(leaf, leaf_of(a, [0.5], grad=False))
    a.step([x, y], "sgd", (("lr", 0.5),), ((1, (("lr", 0.25),)), (1, ())))
    return a.read(x).tolist(), a.read(y).tolist()


class ClipsPerDtype(Fault):
    """Clipping by norm clips the gradients of each dtype separately."""

    rule = "optimizers/clips"

    def clip(self, leaves: Sequence[Tensor], kind: str, bound: float) -> None:
        for dtype in dict.fromkeys(leaf.dtype for leaf in leaves):
            super().clip([leaf for leaf in leaves if leaf.dtype == dtype], kind, bound)


def witness_ClipsPerDtype(a: Any) -> Any:
    x, y = leaf_of(a, [1.0]), leaf_of(a, [2.0], "float32")
    a.assign_grad(x, leaf_of(a, [3.0], grad=False))
    a.assign_grad(y, leaf_of(a, [4.0], "float32", grad=False))
    a.clip([x, y], "norm", 2.0)
    return held_by(a, x, y)
