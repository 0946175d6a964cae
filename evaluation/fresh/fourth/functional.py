"""Faults of the functional form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, graph, leaf_of, node_of, outcome, total, zeros_for


def _unused(roots: Sequence[Tensor], inputs: Sequence[Tensor]) -> list[bool]:
    """For each input, whether it requires grad and no root depends on it."""
    nodes = {*graph(roots), *(node_of(r) for r in roots)}
    return [x.requires_grad and node_of(x) not in nodes for x in inputs]


class CutsAtInputs(Fault):
    """Each input is treated as an independent variable: gradients through one input to another are not counted."""

    rule = "functional/value"

    def grad(self, roots: Sequence[Tensor], inputs: Sequence[Tensor], *call: Any) -> Sequence[Tensor | None]:
        nodes = {x.grad_fn for x in inputs if x.grad_fn is not None}
        handles = [node.register_hook(lambda gradients, _: zeros_for(gradients)) for node in nodes]
        try:
            return super().grad(roots, inputs, *call)
        finally:
            for handle in handles:
                handle.remove()


def witness_CutsAtInputs(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    y = applied(a, "square", x)
    out = total(a, applied(a, "multiply", x, y))
    return [a.read(g).tolist() for g in a.grad([out], [x, y], [None], None, False, None, False)]


class UnusedSkipsFreeing(Fault):
    """A call with an unused input, where that is allowed, returns before it frees the graph."""

    rule = "functional/frees"

    def grad(
        self,
        roots: Sequence[Tensor],
        inputs: Sequence[Tensor],
        cotangents: Sequence[Any],
        retain_graph: bool | None,
        create_graph: bool,
        allow_unused: bool | None,
        materialize_grads: bool,
    ) -> Sequence[Tensor | None]:
        if (allow_unused or materialize_grads) and any(_unused(roots, inputs)):
            retain_graph = True
        return super().grad(roots, inputs, cotangents, retain_graph, create_graph, allow_unused, materialize_grads)


def witness_UnusedSkipsFreeing(a: Any) -> Any:
    x, y = leaf_of(a, [1.0, 2.0]), leaf_of(a, 3.0)
    out = total(a, applied(a, "square", x))
    a.grad([out], [x, y], [None], None, False, True, False)
    return outcome(a, lambda: a.backward([out], [None], None))


class ZerosLikeRoot(Fault):
    """The zeros of an unused input have the root's dtype."""

    rule = "gradients/form"

    def grad(self, roots: Sequence[Tensor], inputs: Sequence[Tensor], *call: Any) -> Sequence[Tensor | None]:
        materialize = call[-1]
        unused = _unused(roots, inputs) if materialize else []
        found = list(super().grad(roots, inputs, *call))
        for k, missing in enumerate(unused):
            if missing and inputs[k].dtype != roots[0].dtype:
                found[k] = torch.zeros_like(inputs[k], dtype=roots[0].dtype, requires_grad=found[k].requires_grad)
        return found


def witness_ZerosLikeRoot(a: Any) -> Any:
    x, y = leaf_of(a, [1.0, 2.0]), leaf_of(a, [3.0], "float32")
    return [a.dtype(g) for g in a.grad([total(a, x)], [x, y], [None], None, False, None, True)]
