"""Faults of the gradients that leaves hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograd_conformance.programs.language import Attrs
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import MATRIX, applied, graph, held_by, is_leaf_node, leaf_of, legal, reached, total, walked


def _uses(roots: Sequence[Tensor]) -> dict[Tensor, int]:
    """The leaves of a graph, each with the number of its uses."""
    counts: dict[Tensor, int] = {}
    for node in graph(roots):
        for after, _ in node.next_functions:
            if after is not None and is_leaf_node(after):
                counts[after.variable] = counts.get(after.variable, 0) + 1
    return counts


class ManyUses(Fault):
    """A call that goes through four or more uses of a leaf counts the gradient that the leaf holds twice: MXNet's
    grad_req='add', #17989.
    """

    rule = "accumulation/adds"

    def backward(
        self,
        roots: Sequence[Tensor],
        cotangents: Sequence[Any],
        retain_graph: bool | None,
        create_graph: bool = False,
        inputs: Sequence[Tensor] | None = None,
    ) -> None:
        wanted = None if inputs is None else {id(x) for x in inputs}
        often = [x for x, n in _uses(roots).items() if n >= 4 and (wanted is None or id(x) in wanted)]
        held = [None if x.grad is None or not x.requires_grad else x.grad.detach().clone() for x in often]
        super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        for x, old in zip(often, held, strict=True):
            if old is not None and x.grad is not None:
                x.grad = x.grad + old if create_graph else x.grad.add_(old)


def witness_ManyUses(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    for _ in range(2):
        out = x
        for _ in range(4):
            out = applied(a, "multiply", out, x)
        a.backward([total(a, out)], [None], None)
    return held_by(a, x)


class NormReplaces(Fault):
    """The gradient of a leaf that a batch norm normalises replaces the gradient that the leaf holds: MXNet's BatchNorm
    with grad_req='add', #18499.
    """

    rule = "accumulation/adds"

    def backward(
        self,
        roots: Sequence[Tensor],
        cotangents: Sequence[Any],
        retain_graph: bool | None,
        create_graph: bool = False,
        inputs: Sequence[Tensor] | None = None,
    ) -> None:
        if inputs is None and legal(roots, cotangents):
            for node in graph(roots):
                first = node.next_functions[0][0] if "BatchNorm" in type(node).__name__ else None
                if first is not None and is_leaf_node(first) and first.variable.requires_grad:
                    first.variable.grad = None
        super().backward(roots, cotangents, retain_graph, create_graph, inputs)


def witness_NormReplaces(a: Any) -> Any:
    x = leaf_of(a, MATRIX)
    a.backward([total(a, applied(a, "exp", x))], [None], None)
    a.backward([total(a, applied(a, "exp", applied(a, "batch_norm", x, eps=0.125)))], [None], None)
    return held_by(a, x)


class SelectingClears(Fault):
    """Taking a part of a leaf clears the leaf's gradient, because using a tensor does: MyGrad's views before #361."""

    rule = "accumulation/adds"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op in ("select", "narrow", "slice", "diagonal") and operands[0].is_leaf and made[0].requires_grad:
            operands[0].grad = None
        return made


def witness_SelectingClears(a: Any) -> Any:
    x = leaf_of(a, MATRIX)
    a.backward([total(a, applied(a, "exp", x))], [None], None)
    a.backward([total(a, applied(a, "select", x, dim=0, index=0))], [None], None)
    return held_by(a, x)


class AssignedTooEarly(Fault):
    """A gradient that was assigned to a leaf before any op used the leaf is replaced by the first backward call instead
    of added to: OneFlow's set_acc_grad, #8575.
    """

    rule = "accumulation/assigned"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        for x in operands:
            x.was_used = True  # type: ignore[attr-defined]
        return super().apply(op, operands, attrs)

    def assign_grad(self, leaf: Tensor, value: Tensor | None) -> None:
        super().assign_grad(leaf, value)
        leaf.is_early = not hasattr(leaf, "was_used") and value is not None  # type: ignore[attr-defined]

    def backward(
        self,
        roots: Sequence[Tensor],
        cotangents: Sequence[Any],
        retain_graph: bool | None,
        create_graph: bool = False,
        inputs: Sequence[Tensor] | None = None,
    ) -> None:
        if legal(roots, cotangents):
            for leaf in reached(roots, inputs):
                if getattr(leaf, "is_early", False) and leaf.requires_grad:
                    leaf.grad = None
                    leaf.is_early = False  # type: ignore[attr-defined]
        super().backward(roots, cotangents, retain_graph, create_graph, inputs)


def witness_AssignedTooEarly(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    a.assign_grad(x, leaf_of(a, [5.0, 6.0], grad=False))
    a.backward([total(a, applied(a, "exp", x))], [None], None)
    return held_by(a, x)


class SumWithoutGraph(Fault):
    """If a leaf holds a gradient, the sum of it and that of a call with create_graph has no history: OneFlow's
    accumulation, #8248.
    """

    rule = "higher/differentiable"

    def backward(
        self,
        roots: Sequence[Tensor],
        cotangents: Sequence[Any],
        retain_graph: bool | None,
        create_graph: bool = False,
        inputs: Sequence[Tensor] | None = None,
    ) -> None:
        holding = [x for x in reached(roots, inputs) if x.grad is not None and x.requires_grad]
        super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        for leaf in holding if create_graph else []:
            leaf.grad = None if leaf.grad is None else leaf.grad.detach()


def witness_SumWithoutGraph(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    out = total(a, applied(a, "exp", x))
    for _ in range(2):
        a.backward([out], [None], None, True)
    return walked(a, total(a, a.gradient(x)))


class TermsShareGradient(Fault):
    """The gradients of two leaves that are used only as the terms of one sum are one tensor: OneFlow's add passes its
    cotangent on to both, as #8248 explains.
    """

    rule = "accumulation/own-object"

    def backward(
        self,
        roots: Sequence[Tensor],
        cotangents: Sequence[Any],
        retain_graph: bool | None,
        create_graph: bool = False,
        inputs: Sequence[Tensor] | None = None,
    ) -> None:
        uses, pairs = _uses(roots), []
        for node in graph(roots):
            given = [n for n, _ in node.next_functions]
            if type(node).__name__ == "AddBackward0" and all(n is not None and is_leaf_node(n) for n in given):
                leaves = [n.variable for n in given]
                if len(leaves) == 2 and all(x.grad is None and uses[x] == 1 for x in leaves):
                    pairs.append(leaves)
        super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        for a, b in [] if create_graph else pairs:
            held = a.grad is not None and b.grad is not None and a.dtype == b.dtype
            if held and torch.equal(a.grad, b.grad):
                b.grad = a.grad


def witness_TermsShareGradient(a: Any) -> Any:
    x, y = leaf_of(a, [1.0, 2.0]), leaf_of(a, [3.0, 4.0])
    a.backward([total(a, applied(a, "exp", applied(a, "add", x, y)))], [None], None)
    return a.identity(a.gradient(x)) == a.identity(a.gradient(y))
