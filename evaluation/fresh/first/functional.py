"""Faults of the functional form."""

from __future__ import annotations

from collections.abc import Callable

import torch

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, graph, held_by, is_leaf_node, leaf_of, outcome, total


class HeldGradientsNotPutBack(Fault):
    """The functional form moves its inputs' `.grad` aside during a call, and does not restore it if the call raises."""

    rule = "functional/no-accumulation"

    def grad(self, roots, inputs, *rest):
        aside = [(x, x.grad) for x in {id(x): x for x in inputs}.values() if x.is_leaf and x.requires_grad]
        for x, _ in aside:
            x.grad = None
        made = super().grad(roots, inputs, *rest)
        for x, held in aside:
            x.grad = held
        return made


def witness_HeldGradientsNotPutBack(a):
    x, u = leaf_of(a, [1.0, 2.0]), leaf_of(a, 5.0)
    a.backward([total(a, applied(a, "square", x))], [None], None)
    y = total(a, applied(a, "sin", x))
    return outcome(a, lambda: a.grad([y], [x, u], [None], None, False, None, False)), held_by(a, x)


class InputsCutOneAnother(Fault):
    """The functional form stops at its inputs: an input that another input was computed from does not get the gradient
    through the other one.
    """

    rule = "functional/value"

    def grad(self, roots, inputs, *rest):
        kept: dict[int, torch.Tensor] = {}
        hooks = []

        def cut(x: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
            key = id(x)

            def caught(g: torch.Tensor) -> torch.Tensor:
                kept[key] = g
                return torch.zeros_like(g)

            return caught

        for x in {id(x): x for x in inputs}.values():
            if x.grad_fn is None:
                continue
            below = graph([x])
            leaves = {id(n.variable) for n in below if is_leaf_node(n)}
            if any(
                y is not x and (id(y) in leaves or (y.grad_fn in below and y.grad_fn is not x.grad_fn)) for y in inputs
            ):
                hooks.append(x.register_hook(cut(x)))
        try:
            made = super().grad(roots, inputs, *rest)
        finally:
            for h in hooks:
                h.remove()
        return tuple(kept.get(id(x), g) for x, g in zip(inputs, made, strict=True))


def witness_InputsCutOneAnother(a):
    x = leaf_of(a, [1.0, 2.0])
    y = applied(a, "square", x)
    z = total(a, applied(a, "multiply", y, x))
    return [a.read(g).tolist() for g in a.grad([z], [x, y], [None], None, False, None, False)]


class DuplicateInputGetsZeros(Fault):
    """An input that is listed twice gets its gradient at the first position, and zeros at the others."""

    rule = "functional/duplicates"

    def grad(self, roots, inputs, *rest):
        made = list(super().grad(roots, inputs, *rest))
        for k, x in enumerate(inputs):
            if made[k] is not None and any(x is y for y in inputs[:k]):
                made[k] = torch.zeros_like(made[k])
        return tuple(made)


def witness_DuplicateInputGetsZeros(a):
    x = leaf_of(a, [1.0, 2.0])
    made = a.grad([total(a, applied(a, "square", x))], [x, x], [None], None, False, None, False)
    return [a.read(g).tolist() for g in made]
