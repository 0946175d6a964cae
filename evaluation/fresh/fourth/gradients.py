"""Faults of derivatives and of the accumulation of gradients in the backward pass."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograd_conformance.programs.language import Attrs
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import after, applied, before, held_by, is_leaf_node, leaf_of, total, vjp


class MeanCount(Fault):
    """The divisor of mean's derivative is cached by the shape of the result and the attributes."""

    rule = "gradients/graph"

    def reset(self) -> None:
        super().reset()
        self.counts: dict[Any, float] = {}

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op == "mean" and operands[0].numel():
            (out,) = made
            count = operands[0].numel() / out.numel()
            used = self.counts.setdefault((tuple(out.shape), attrs), count)
            if used != count:
                before(out, lambda g: g * (count / used))
        return made


def witness_MeanCount(a: Any) -> Any:
    x, y = leaf_of(a, [1.0, 2.0]), leaf_of(a, [1.0, 2.0, 3.0])
    for leaf in (x, y):
        a.backward([applied(a, "mean", leaf, dim=None, keepdim=False)], [None], None)
    return held_by(a, x, y)


class RankOfFirst(Fault):
    """A node's rank in the order of the backward pass is one more than its first operand's instead of its latest
    operand's.
    """

    rule = "gradients/fan-out"

    def backward(self, roots: Sequence[Tensor], *call: Any, **options: Any) -> None:
        handles = _lose(roots)
        try:
            super().backward(roots, *call, **options)
        finally:
            for handle in handles:
                handle.remove()

    def grad(self, roots: Sequence[Tensor], *call: Any) -> Sequence[Tensor | None]:
        handles = _lose(roots)
        try:
            return super().grad(roots, *call)
        finally:
            for handle in handles:
                handle.remove()


def _lose(roots: Sequence[Tensor]) -> list[Any]:
    """Register hooks that remove gradients that arrive at a node after the backward pass visited it; leaves sum all."""
    ranks: dict[Any, int] = {}

    def rank(node: Any) -> int:
        chain = []
        while node is not None and node not in ranks:
            chain.append(node)
            node = node.next_functions[0][0] if node.next_functions else None
        found = -1 if node is None else ranks[node]
        for each in reversed(chain):
            found = ranks[each] = found + 1
        return found

    seen: set[Any] = set()
    queue: list[tuple[int, int, Any]] = []

    def push(node: Any) -> None:
        if node is not None and node not in seen and not is_leaf_node(node):
            seen.add(node)
            heapq.heappush(queue, (-rank(node), len(seen), node))

    for root in roots:
        push(root.grad_fn)
    done: set[Any] = set()
    handles = []
    while queue:
        _, _, node = heapq.heappop(queue)
        done.add(node)
        late = [k for k, (n, _) in enumerate(node.next_functions) if n in done]
        for n, _ in node.next_functions:
            push(n)
        if late:

            def lose(gradients: Any, _: Any, late: list[int] = late) -> Any:
                return tuple(torch.zeros_like(g) if g is not None and k in late else g for k, g in enumerate(gradients))

            handles.append(node.register_hook(lose))
    return handles


def witness_RankOfFirst(a: Any) -> Any:
    x, z = leaf_of(a, [1.0, 2.0]), leaf_of(a, [3.0, 4.0])
    h = applied(a, "sin", applied(a, "exp", x))
    far, near = applied(a, "square", applied(a, "tanh", h)), applied(a, "multiply", z, h)
    a.backward([total(a, applied(a, "add", near, far))], [None], None)
    return held_by(a, x, z)


class PackedUnstack(Fault):
    """The cotangents of unstack's results are packed if some did not arrive, and the rest is filled with zeros at the
    end.
    """

    rule = "gradients/several-results"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op == "unstack" and len(made) > 1:
            dim = dict(attrs)["dim"]

            def packed(gradients: list, cotangents: Sequence) -> list | None:
                there = [g for g in cotangents if g is not None]
                if len(there) in (0, len(cotangents)):
                    return None
                rest = [torch.zeros_like(there[0])] * (len(cotangents) - len(there))
                return [torch.stack([*there, *rest], dim)]

            after(made[0], packed)
        return made


def witness_PackedUnstack(a: Any) -> Any:
    return vjp(a, "unstack", [[[1.0, 2.0], [3.0, 4.0]]], result=1, dim=0)


class ProdCountsZeros(Fault):
    """The derivative of prod_dim counts the zeros of the whole operand instead of those of each line."""

    rule = "gradients/op"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op == "prod_dim":
            zeros = operands[0].detach() == 0
            single = zeros.sum(dict(attrs)["dim"], keepdim=True) == 1
            if zeros.sum() > 1 and single.any():
                after(made[0], lambda gradients, _: [torch.where(single, torch.zeros_like(gradients[0]), gradients[0])])
        return made


def witness_ProdCountsZeros(a: Any) -> Any:
    return vjp(a, "prod_dim", [[[0.0, 2.0], [3.0, 0.0]]], dim=1, keepdim=False)


class BiasAlone(Fault):
    """A layer with a bias is recorded only if its input or its weight requires grad."""

    rule = "gradients/requires-grad"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        layer = op in ("linear_bias", "conv1d_bias", "conv2d_bias")
        if layer and not operands[0].requires_grad and not operands[1].requires_grad:
            with torch.no_grad():
                return super().apply(op, operands, attrs)
        return super().apply(op, operands, attrs)


def witness_BiasAlone(a: Any) -> Any:
    x, w = leaf_of(a, [[1.0, 2.0]], grad=False), leaf_of(a, [[1.0, 2.0]], grad=False)
    return a.requires_grad(applied(a, "linear_bias", x, w, leaf_of(a, [1.0])))


class ReluMasksInPlace(Fault):
    """The derivative of relu sets elements of its cotangent to zero in place if the cotangent is dense."""

    rule = "gradients/cotangent-kept"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op == "relu":

            def masked(gradients: list, cotangents: Sequence) -> None:
                (gradient,), (cotangent,) = gradients, cotangents
                if not torch.is_grad_enabled() and cotangent.is_contiguous() and not cotangent._is_zerotensor():
                    cotangent.copy_(gradient)

            after(made[0], masked)
        return made


def witness_ReluMasksInPlace(a: Any) -> Any:
    out = applied(a, "relu", leaf_of(a, [1.0, -2.0]))
    cotangent = np.array([3.0, 4.0])
    a.backward([out], [cotangent], None)
    return cotangent.tolist()
