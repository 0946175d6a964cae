"""Faults of the functional form."""

from __future__ import annotations

from typing import Any

import torch

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, graph, leaf_of, reached, total, zeros_for


class StopsAtInner(Fault):
    """If one input of the functional form was computed from another, the walk ends at the first: the other gets no
    gradient through it.
    """

    rule = "functional/value"

    def grad(
        self,
        roots: Any,
        inputs: Any,
        cotangents: Any,
        retain_graph: Any,
        create_graph: bool,
        allow_unused: Any,
        materialize_grads: bool,
    ) -> Any:
        handles = []
        for inner in inputs:
            if inner.grad_fn is None:
                continue
            behind, leaves = graph([inner]), {id(x) for x in reached([inner])}
            rest = [x for x in inputs if x is not inner]
            if any(id(x) in leaves or (x.grad_fn is not inner.grad_fn and x.grad_fn in behind) for x in rest):
                handles.append(inner.grad_fn.register_prehook(zeros_for))
        try:
            return super().grad(roots, inputs, cotangents, retain_graph, create_graph, allow_unused, materialize_grads)
        finally:
            for handle in handles:
                handle.remove()


def witness_StopsAtInner(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    y = applied(a, "exp", x)
    z = total(a, applied(a, "multiply", x, y))
    return [a.read(g).tolist() for g in a.grad([z], [x, y], [None], None, False, None, False)]


class ZerosByShape(Fault):
    """Materialized zeros are cached by shape but not by dtype: an input may get zeros of another input's dtype."""

    rule = "functional/materialized"

    def reset(self) -> None:
        super().reset()
        self.zeros: dict[Any, torch.dtype] = {}

    def grad(
        self,
        roots: Any,
        inputs: Any,
        cotangents: Any,
        retain_graph: Any,
        create_graph: bool,
        allow_unused: Any,
        materialize_grads: bool,
    ) -> Any:
        nodes, leaves = graph(roots), {id(x) for x in reached(roots)} | {id(r) for r in roots}
        made = super().grad(roots, inputs, cotangents, retain_graph, create_graph, allow_unused, materialize_grads)
        out = []
        for x, g in zip(inputs, made, strict=True):
            used = id(x) in leaves or (x.grad_fn is not None and x.grad_fn in nodes)
            if materialize_grads and not used and g is not None:
                out.append(g.to(self.zeros.setdefault(tuple(x.shape), x.dtype)))
            else:
                out.append(g)
        return tuple(out)


def witness_ZerosByShape(a: Any) -> Any:
    x, y, z = leaf_of(a, [1.0, 2.0]), leaf_of(a, [1.0, 2.0], "float32"), leaf_of(a, [3.0, 4.0])
    root = total(a, applied(a, "exp", z))
    return [a.dtype(g) for g in a.grad([root], [x, y, z], [None], None, False, None, True)]
