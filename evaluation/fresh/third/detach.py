"""Faults of detaching."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, held_by, leaf_of, reached, total


class DetachedSelf(Fault):
    """Detaching a value that does not require grad returns the value itself."""

    rule = "detach/values"

    def detach(self, value: Tensor) -> Tensor:
        return super().detach(value) if value.requires_grad else value


def witness_DetachedSelf(a: Any) -> Any:
    c = leaf_of(a, [1.0, 2.0], grad=False)
    d = a.detach(c)
    a.set_requires_grad(c, True)
    return a.requires_grad(d)


class FlagOnly(Fault):
    """A value that was detached in place and then made to require grad again propagates gradients to its former
    history.
    """

    rule = "detach/blocks"

    def reset(self) -> None:
        super().reset()
        self.cut: list[tuple[Tensor, Tensor]] = []

    def detach_in_place(self, value: Tensor) -> None:
        before = value.clone() if value.requires_grad and not value.is_leaf and torch.is_grad_enabled() else None
        super().detach_in_place(value)
        if before is not None:
            self.cut.append((value, before))

    def backward(
        self, roots: Any, cotangents: Any, retain_graph: Any, create_graph: bool = False, inputs: Any = None
    ) -> None:
        met = {id(x) for x in reached(roots)} if self.cut and inputs is None else set()
        arrived: list[tuple[Tensor, Tensor]] = []
        handles = [
            value.register_hook(lambda g, before=before: arrived.append((before, g.detach().clone())))
            for value, before in self.cut
            if id(value) in met and value.requires_grad
        ]
        try:
            super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        finally:
            for handle in handles:
                handle.remove()
        for before, gradient in arrived:
            before.backward(gradient, retain_graph=True)


def witness_FlagOnly(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    y = applied(a, "multiply_scalar", x, scalar=3.0)
    a.detach_in_place(y)
    a.set_requires_grad(y, True)
    a.backward([total(a, applied(a, "exp", y))], [None], None)
    return held_by(a, x)
