"""Faults of optimizers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograd_conformance.programs.language import Attrs, Groups
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, held_by, leaf_of, total


def _steps(a: Any, x: Any, number: int, optimizer: str, settings: Any) -> Any:
    """The values of a leaf after steps with smaller and smaller gradients."""
    for n in range(number):
        a.zero_grad([x], True)
        a.backward([total(a, applied(a, "multiply_scalar", x, scalar=2.0 / (1 + n)))], [None], None)
        a.step([x], optimizer, settings)
    return a.read(x).tolist()


class AscentDecaysUp(Fault):
    """SGD that maximises adds the weight decay to the gradient and then steps upwards, so that weights grow:
    PyTorch's first `maximize`.
    """

    rule = "optimizers/formula"

    def optimizer(self, leaves: Sequence[Tensor], optimizer: str, settings: Attrs, groups: Groups = ()) -> Any:
        made = super().optimizer(leaves, optimizer, settings, groups)
        if optimizer == "sgd":
            for group in made.param_groups:
                if group["maximize"]:
                    group["weight_decay"] = -abs(group["weight_decay"])
        return made


def witness_AscentDecaysUp(a: Any) -> Any:
    return _steps(a, leaf_of(a, [1.0, 2.0]), 1, "sgd", (("lr", 0.125), ("weight_decay", 0.25), ("maximize", True)))


def _without(settings: Attrs, name: str) -> Attrs:
    return tuple((key, value) for key, value in settings if key != name)


class MaximumForgotten(Fault):
    """Adam for all leaves at once does not store the maximum of AMSGrad: PyTorch's former foreach implementation bound
    the result of `_foreach_maximum` to a name only.
    """

    rule = "optimizers/variants"

    def optimizer(self, leaves: Sequence[Tensor], optimizer: str, settings: Attrs, groups: Groups = ()) -> Any:
        if dict(settings).get("foreach") and optimizer in ("adam", "adamw"):
            settings = _without(settings, "amsgrad")
            groups = tuple((number, _without(given, "amsgrad")) for number, given in groups)
        return super().optimizer(leaves, optimizer, settings, groups)


def witness_MaximumForgotten(a: Any) -> Any:
    settings = (("lr", 0.125), ("betas", (0.5, 0.75)), ("amsgrad", True), ("foreach", True))
    return _steps(a, leaf_of(a, [1.0, 2.0]), 3, "adam", settings)


class DecayStays(Fault):
    """A step for all leaves at once adds the weight decay to the stored gradients in place."""

    rule = "optimizers/variants"

    def step(self, leaves: Sequence[Tensor], optimizer: str, settings: Attrs, groups: Groups = ()) -> None:
        added = []
        for group in self.optimizer(leaves, optimizer, settings, groups).param_groups:
            if group.get("foreach") and not group["maximize"] and optimizer != "adamw":
                held = [p for p in group["params"] if p.grad is not None and not p.grad.requires_grad]
                added += [(p, p.detach() * group["weight_decay"]) for p in held]
        super().step(leaves, optimizer, settings, groups)
        for p, decay in added:
            p.grad.add_(decay)


def witness_DecayStays(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    a.backward([total(a, x)], [None], None)
    for _ in range(2):
        a.step([x], "sgd", (("lr", 0.125), ("weight_decay", 0.25), ("foreach", True)))
    return a.read(x).tolist()


class CommonTime(Fault):
    """Adam corrects the averages of each leaf by the number of all its steps, also of those that skipped the leaf:
    Chainer before its update rules counted for themselves.
    """

    rule = "optimizers/remembers"

    def reset(self) -> None:
        super().reset()
        self.times: dict[int, tuple[Any, int]] = {}

    def step(self, leaves: Sequence[Tensor], optimizer: str, settings: Attrs, groups: Groups = ()) -> None:
        if optimizer in ("adam", "adamw"):
            made = self.optimizer(leaves, optimizer, settings, groups)
            _, time = self.times.get(id(made), (made, 0))
            self.times[id(made)] = (made, time + 1)
            for group in made.param_groups if time else ():
                for p in group["params"]:
                    if p.grad is not None:
                        self._set(made.state[p], p, time, group["amsgrad"])
        super().step(leaves, optimizer, settings, groups)

    @staticmethod
    def _set(state: dict, p: Tensor, time: int, amsgrad: bool) -> None:
        if not state:
            averages = ["exp_avg", "exp_avg_sq", *(["max_exp_avg_sq"] if amsgrad else [])]
            state["step"] = torch.tensor(0.0)
            state |= {name: torch.zeros_like(p, requires_grad=False) for name in averages}
        state["step"].fill_(float(time))


def witness_CommonTime(a: Any) -> Any:
    x, y = leaf_of(a, [1.0, 2.0]), leaf_of(a, [3.0])
    settings = (("lr", 0.125), ("betas", (0.5, 0.75)))
    a.backward([total(a, x)], [None], None)
    a.step([x, y], "adam", settings)
    a.backward([total(a, y)], [None], None)
    a.step([x, y], "adam", settings)
    return a.read(x).tolist(), a.read(y).tolist()


class SlicesNorm(Fault):
    """Clipping by norm takes the norm of an embedding's rows before the rows of one index are summed up: TensorFlow's
    `clip_by_global_norm` of IndexedSlices.
    """

    rule = "optimizers/clips"

    def reset(self) -> None:
        super().reset()
        self.slices: dict[int, tuple[Tensor, Tensor, Tensor]] = {}

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        table = operands[0]
        node = made[0].grad_fn
        if op == "embedding" and node is not None and table.is_leaf:
            index = torch.tensor(dict(attrs)["index"]).reshape(-1)

            def keep(cotangents: tuple) -> None:
                rows = cotangents[0].detach().clone().reshape(index.numel(), table.shape[1])
                self.slices[id(table)] = (table, index, rows)

            node.register_prehook(keep)
        return made

    def _rows(self, x: Tensor) -> Tensor:
        assert x.grad is not None
        if id(x) in self.slices:
            _, index, rows = self.slices[id(x)]
            if torch.equal(torch.zeros_like(x.grad).index_add(0, index, rows), x.grad):
                return rows
        return x.grad

    def clip(self, leaves: Sequence[Tensor], kind: str, bound: float) -> None:
        held = [x for x in leaves if x.grad is not None]
        rows = [self._rows(x) for x in held]
        if kind != "norm" or all(r is x.grad for r, x in zip(rows, held, strict=True)):
            super().clip(leaves, kind, bound)
            return
        norm = torch.stack([r.detach().double().norm() for r in rows]).norm()
        for x in held:
            assert x.grad is not None
            with torch.no_grad():
                x.grad.mul_(min(1.0, bound / (float(norm) + 1e-6)))


def witness_SlicesNorm(a: Any) -> Any:
    x = leaf_of(a, [[1.0, 2.0], [3.0, 4.0]])
    a.backward([total(a, applied(a, "embedding", x, index=(0, 0, 1)))], [None], None)
    a.clip([x], "norm", 0.5)
    return held_by(a, x)


class GroupAfterGroup(Fault):
    """A setting that a parameter group leaves out is that of the group before it, not the optimizer's."""

    rule = "optimizers/groups"

    def optimizer(self, leaves: Sequence[Tensor], optimizer: str, settings: Attrs, groups: Groups = ()) -> Any:
        current: dict[str, Any] = {}
        inherited = []
        for number, given in groups:
            current = {**current, **dict(given)}
            inherited.append((number, tuple(current.items())))
        return super().optimizer(leaves, optimizer, settings, tuple(inherited))


def witness_GroupAfterGroup(a: Any) -> Any:
    x, y = leaf_of(a, [1.0, 2.0]), leaf_of(a, [3.0])
    a.backward([total(a, x), total(a, y)], [None, None], None)
    a.step([x, y], "sgd", (("lr", 0.125),), groups=((1, (("weight_decay", 0.25),)), (1, (("lr", 0.25),))))
    return a.read(x).tolist(), a.read(y).tolist()


class ClipsByDtype(Fault):
    """Clipping by norm treats the gradients of each dtype apart, with a separate norm."""

    rule = "optimizers/clips"

    def clip(self, leaves: Sequence[Tensor], kind: str, bound: float) -> None:
        if kind != "norm":
            super().clip(leaves, kind, bound)
            return
        for dtype in {x.dtype: None for x in leaves}:
            super().clip([x for x in leaves if x.dtype == dtype], kind, bound)


def witness_ClipsByDtype(a: Any) -> Any:
    x, y = leaf_of(a, [1.0, 2.0]), leaf_of(a, [3.0], "float32")
    a.backward([total(a, x), total(a, y)], [None, None], None)
    a.clip([x, y], "norm", 0.5)
    return held_by(a, x, y)


class ClipExhausts(Fault):
    """Clipping by norm iterates over the leaves twice, and finds none the second time: PyTorch's former
    `clip_grad_norm_` with an iterator, such as the `filter` that it made itself.
    """

    rule = "optimizers/clips"

    def clip(self, leaves: Sequence[Tensor], kind: str, bound: float) -> None:
        if kind == "norm":
            held = (x for x in leaves if x.grad is not None)
            norm = sum(float(x.grad.norm()) ** 2 for x in held if x.grad is not None) ** 0.5
            for x in held if norm > bound else ():
                super().clip([x], kind, bound / norm)
            return
        super().clip(leaves, kind, bound)


def witness_ClipExhausts(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    a.backward([total(a, x)], [None], None)
    a.clip([x], "norm", 0.5)
    return held_by(a, x)
