"""Faults of gradients as results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograd_conformance.programs.language import Attrs
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, graph, leaf_of, total


class RootAsInput(Fault):
    """An input that is a root, too, gets the gradients of the other roots only: early PyTorch's `grad`."""

    rule = "functional/value"

    def grad(
        self, roots: Sequence[Tensor], inputs: Sequence[Tensor], cotangents: Sequence[Any], *call: Any
    ) -> Sequence[Tensor | None]:
        made = list(super().grad(roots, inputs, cotangents, *call))
        for i, x in enumerate(inputs):
            for root, given in zip(roots, cotangents, strict=True):
                found = made[i]
                if root is x and found is not None:
                    made[i] = found - (torch.ones_like(x) if given is None else torch.as_tensor(given, dtype=x.dtype))
        return made


def witness_RootAsInput(a: Any) -> Any:
    x = total(a, leaf_of(a, [1.0, 2.0]))
    (g,) = a.grad([x, applied(a, "square", x)], [x], [None, None], None, False, None, False)
    return a.read(g).tolist()


class JoinedKeepsWider(Fault):
    """The functional form returns a gradient in the dtype of the join that a narrower input went into: PyTorch's first
    `cat` with several dtypes.
    """

    rule = "gradients/form"

    def reset(self) -> None:
        super().reset()
        self.joined: list[tuple[Tensor, Any]] = []

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op in ("concat", "concat_three"):
            self.joined.extend((x, made[0].grad_fn) for x in operands if x.dtype != made[0].dtype)
        return made

    def grad(self, roots: Sequence[Tensor], inputs: Sequence[Tensor], *call: Any) -> Sequence[Tensor | None]:
        nodes = graph(roots)
        made = super().grad(roots, inputs, *call)
        wide = [any(x is joined and node in nodes for joined, node in self.joined) for x in inputs]
        return [g.double() if w and g is not None else g for g, w in zip(made, wide, strict=True)]


def witness_JoinedKeepsWider(a: Any) -> Any:
    x, y = leaf_of(a, [1.0, 2.0], "float32"), leaf_of(a, [3.0])
    out = total(a, applied(a, "concat", x, y, dim=0))
    (g,) = a.grad([out], [x], [None], None, False, None, False)
    return a.dtype(g)


class MaterializesDefault(Fault):
    """Materialised gradients are zeros of the default dtype."""

    rule = "functional/materialized"

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
        if not materialize_grads or allow_unused is False:
            return super().grad(roots, inputs, cotangents, retain_graph, create_graph, allow_unused, materialize_grads)
        made = super().grad(roots, inputs, cotangents, retain_graph, create_graph, True, False)
        return [torch.zeros(x.shape) if g is None else g for x, g in zip(inputs, made, strict=True)]


def witness_MaterializesDefault(a: Any) -> Any:
    x, y = leaf_of(a, [1.0, 2.0]), leaf_of(a, [3.0])
    gradients = a.grad([total(a, x)], [x, y], [None], None, False, None, True)
    return [a.dtype(g) for g in gradients]
