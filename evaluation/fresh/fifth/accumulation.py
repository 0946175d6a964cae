"""Faults of the gradients that leaves and other values store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograd_conformance.programs.language import Attrs, Groups
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import alias, applied, graph, held_by, is_leaf_node, leaf_of, outcome, total


class SumSharesGradient(Fault):
    """The two leaves of a sum store the same gradient object if neither held one: PyTorch before it checked for other
    references to a gradient.
    """

    rule = "accumulation/own-object"

    def backward(self, roots: Sequence[Tensor], *call: Any, **options: Any) -> None:
        pairs = []
        for node in graph(roots):
            nodes = [n for n, _ in node.next_functions]
            if node.name() == "AddBackward0" and len(nodes) == 2 and all(map(is_leaf_node, nodes)):
                a, b = (n.variable for n in nodes)
                if a is not b and a.shape == b.shape and a.grad is None and b.grad is None:
                    pairs.append((a, b))
        super().backward(roots, *call, **options)
        for a, b in pairs:
            first, second = a.grad, b.grad
            stored = first is not None and second is not None and not first.requires_grad
            if stored and a.dtype == b.dtype and torch.equal(first, second):
                b.grad = first


def witness_SumSharesGradient(a: Any) -> Any:
    x, y = leaf_of(a, [1.0, 2.0]), leaf_of(a, [3.0, 4.0])
    a.backward([total(a, applied(a, "add", x, y))], [None], None)
    a.backward([total(a, applied(a, "square", x))], [None], None)
    return held_by(a, x, y)


class RecurrentOverwrites(Fault):
    """A recurrent layer's gradient replaces the one that a parameter holds: MXNet's RNN operator ignored
    `grad_req="add"`.
    """

    rule = "accumulation/adds"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        if op not in ("nn_rnn", "nn_gru", "nn_lstm"):
            return super().apply(op, operands, attrs)
        first = 1 + (0 if not dict(attrs)["state"] else 2 if op == "nn_lstm" else 1)
        return super().apply(op, [x if i < first else self._replaced(x) for i, x in enumerate(operands)], attrs)

    @staticmethod
    def _replaced(x: Tensor) -> Tensor:
        if not x.is_leaf or not x.requires_grad:
            return x
        return alias(x, lambda g: g if x.grad is None else g - x.grad.detach())


def witness_RecurrentOverwrites(a: Any) -> Any:
    shapes = [(2, 1, 1), (3, 1), (3, 1), (3,), (3,)]
    leaves = [leaf_of(a, np.linspace(-1, 1, int(np.prod(shape))).reshape(shape)) for shape in shapes]
    given = {"layers": 1, "directions": 1, "batch_first": False, "bias": True, "state": False, "lengths": None}
    for _ in range(2):
        a.backward([total(a, applied(a, "nn_gru", *leaves, **given)[0])], [None], None)
    return held_by(a, *leaves)


class ZeroesByDetaching(Fault):
    """Clearing to zeros detaches the gradient in place first, which is refused if it is a view: PyTorch's former
    `zero_grad`.
    """

    rule = "accumulation/zero-to-zeros"

    def reset(self) -> None:
        super().reset()
        self.viewed: list[Tensor] = []

    def assign_grad(self, leaf: Tensor, value: Tensor | None) -> None:
        super().assign_grad(leaf, value)
        if value is not None and value._is_view():
            self.viewed.append(value)

    def _check(self, leaves: Sequence[Tensor], set_to_none: bool) -> None:
        if not set_to_none and any(x.grad is v for x in leaves for v in self.viewed):
            raise RuntimeError("Can't detach views in-place. Use detach() instead.")

    def zero_grad(self, leaves: Sequence[Tensor], set_to_none: bool) -> None:
        self._check(leaves, set_to_none)
        super().zero_grad(leaves, set_to_none)

    def clear(
        self, leaves: Sequence[Tensor], optimizer: str, settings: Attrs, set_to_none: bool, groups: Groups = ()
    ) -> None:
        self._check(leaves, set_to_none)
        super().clear(leaves, optimizer, settings, set_to_none, groups)


def witness_ZeroesByDetaching(a: Any) -> Any:
    x, y = leaf_of(a, [1.0, 2.0]), leaf_of(a, [[3.0, 4.0]], grad=False)
    a.assign_grad(x, applied(a, "select", y, dim=0, index=0))
    return outcome(a, lambda: a.zero_grad([x], False))


class RetainedPropagates(Fault):
    """A value that retains its gradient passes on the stored sum in each call, not the call's own gradient: micrograd,
    whose every value stores a gradient.
    """

    rule = "relations/repeated"

    def retain_grad(self, value: Tensor) -> None:
        super().retain_grad(value)
        if value.grad_fn is not None:
            value.grad_fn.register_prehook(lambda cotangents: self._stored(value, cotangents))

    @staticmethod
    def _stored(value: Tensor, cotangents: tuple) -> tuple | None:
        if len(cotangents) != 1 or value.grad is None or value.grad.shape != cotangents[0].shape:
            return None
        return (cotangents[0] + (value.grad - cotangents[0]).detach(),)


def witness_RetainedPropagates(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    y = applied(a, "square", x)
    a.retain_grad(y)
    out = total(a, y)
    a.backward([out], [None], True)
    a.backward([out], [None], True)
    return held_by(a, x)


class SumsIntoCotangent(Fault):
    """The gradient of a root that another root was computed from is summed up in the array that the caller passed:
    Chainer before it copied such gradients.
    """

    rule = "gradients/cotangent-kept"

    def backward(self, roots: Sequence[Tensor], cotangents: Sequence[Any], *call: Any, **options: Any) -> None:
        whole: list[tuple[int, Tensor]] = []

        def keep(place: int) -> Any:
            return lambda gradient: whole.append((place, gradient.detach().clone()))

        shared = {id(r): i for i, r in enumerate(roots) if r.grad_fn is not None and cotangents[i] is not None}
        handles = [roots[i].register_hook(keep(i)) for i in shared.values()] if len(roots) > 1 else []
        try:
            super().backward(roots, cotangents, *call, **options)
        finally:
            for handle in handles:
                handle.remove()
        for place, gradient in whole:
            if sum(r is roots[place] for r in roots) == 1 and gradient.shape == cotangents[place].shape:
                np.copyto(cotangents[place], gradient.numpy())


def witness_SumsIntoCotangent(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    y = applied(a, "square", x)
    given = np.array([1.0, 2.0])
    a.backward([y, total(a, y)], [given, None], None)
    return given.tolist()


class SwitchOnClears(Fault):
    """Switching a leaf's requires_grad on again gives it an empty gradient."""

    rule = "accumulation/adds"

    def set_requires_grad(self, value: Tensor, on: bool) -> None:
        if on and value.is_leaf and not value.requires_grad and value.grad is not None:
            value.grad = None
        super().set_requires_grad(value, on)


def witness_SwitchOnClears(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    a.backward([total(a, applied(a, "square", x))], [None], None)
    a.set_requires_grad(x, False)
    a.set_requires_grad(x, True)
    return held_by(a, x)
