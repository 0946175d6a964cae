"""Faults of functional calls, and of calls with inputs or with several roots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograd_conformance.programs.language import Attrs
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, graph, held_by, leaf_of, outcome, reached, total, walked


class HeldIsAdded(Fault):
    """A functional call adds the stored gradient of an input to the gradient that it returns, because it takes its
    results from there: OneFlow's autograd.grad, #9390.
    """

    rule = "functional/value"

    def grad(self, roots: Sequence[Tensor], inputs: Sequence[Tensor], *rest: Any) -> Sequence[Tensor | None]:
        made = super().grad(roots, inputs, *rest)
        held = [x.grad if x.is_leaf else None for x in inputs]
        return [g if g is None or old is None else g + old.detach() for g, old in zip(made, held, strict=True)]


def witness_HeldIsAdded(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    a.backward([total(a, applied(a, "exp", x))], [None], None)
    (made,) = a.grad([total(a, applied(a, "square", x))], [x], [None], None, False, None, False)
    return a.read(made).tolist()


class UnusedWalksEverything(Fault):
    """A functional call with an unused input goes through the whole graph, and so frees parts of it that lead to no
    input: PyTorch, #39784.
    """

    rule = "lifetime/traversed-only"

    def grad(self, roots: Sequence[Tensor], inputs: Sequence[Tensor], *rest: Any) -> Sequence[Tensor | None]:
        nodes, all_inputs = {*graph(roots)}, list(inputs)
        unused = [x for x in inputs if x.requires_grad and not any(x is root for root in roots)]
        if any(torch.autograd.graph.get_gradient_edge(x).node not in nodes for x in unused):
            all_inputs += [leaf for leaf in reached(roots) if leaf.requires_grad and not any(leaf is x for x in inputs)]
        return super().grad(roots, all_inputs, *rest)[: len(inputs)]


def witness_UnusedWalksEverything(a: Any) -> Any:
    x, y, z = (leaf_of(a, [1.0, 2.0]) for _ in range(3))
    inner = applied(a, "exp", x)
    out = total(a, applied(a, "add", inner, applied(a, "exp", y)))
    a.grad([out], [y, z], [None], None, False, True, False)
    return walked(a, total(a, inner))


class InputsAfterWrite(Fault):
    """After a write to a value that is no leaf and that was an input of a backward call, no later backward call reaches
    it as an input: PyTorch, #79708.
    """

    rule = "functional/inputs-only"

    def write(self, op: str, target: Tensor, operands: Sequence[Tensor], attrs: Attrs) -> None:
        super().write(op, target, operands, attrs)
        if getattr(target, "was_input", False):
            target.is_lost = True  # type: ignore[attr-defined]

    def backward(
        self,
        roots: Sequence[Tensor],
        cotangents: Sequence[Any],
        retain_graph: bool | None,
        create_graph: bool = False,
        inputs: Sequence[Tensor] | None = None,
    ) -> None:
        lost = [x for x in inputs or () if getattr(x, "is_lost", False)]
        held = [None if (old := self.gradient(x)) is None else old.clone() for x in lost]
        super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        for x, old in zip(lost, held, strict=True):
            x.grad = old
        for x in inputs or ():
            x.was_input = not x.is_leaf  # type: ignore[attr-defined]


def witness_InputsAfterWrite(a: Any) -> Any:
    y = applied(a, "exp", leaf_of(a, [1.0, 2.0]))
    a.backward([total(a, applied(a, "square", y))], [None], None, False, [y])
    a.write("mul_scalar_", y, [], (("scalar", 3),))
    a.backward([total(a, applied(a, "square", y))], [None], None, False, [y])
    return held_by(a, y)


class ZerosOfDefaultDtype(Fault):
    """The zeros for an unused input have the default dtype instead of the input's."""

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
        return [torch.zeros(x.shape) if g is None else g for g, x in zip(made, inputs, strict=True)]


def witness_ZerosOfDefaultDtype(a: Any) -> Any:
    x, y = leaf_of(a, [1.0, 2.0]), leaf_of(a, [1.0])
    made = a.grad([total(a, applied(a, "exp", x))], [x, y], [None], None, False, None, True)
    return [a.dtype(g) for g in made]


class SecondPlaceIsPlain(Fault):
    """If an input is listed twice in a call with create_graph, only the gradient in the first place can be
    differentiated.
    """

    rule = "higher/differentiable"

    def grad(self, roots: Sequence[Tensor], inputs: Sequence[Tensor], *rest: Any) -> Sequence[Tensor | None]:
        made = list(super().grad(roots, inputs, *rest))
        for k, x in enumerate(inputs):
            gradient = made[k]
            if gradient is not None and any(x is other for other in inputs[:k]):
                made[k] = gradient.detach()
        return made


def witness_SecondPlaceIsPlain(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    _, second = a.grad([total(a, applied(a, "exp", x))], [x, x], [None], None, True, None, False)
    return walked(a, total(a, second))


class InputsForgetRetaining(Fault):
    """A backward call with inputs frees the graph even with retain_graph, unless it creates a graph."""

    rule = "lifetime/retained-works"

    def backward(
        self,
        roots: Sequence[Tensor],
        cotangents: Sequence[Any],
        retain_graph: bool | None,
        create_graph: bool = False,
        inputs: Sequence[Tensor] | None = None,
    ) -> None:
        kept = retain_graph if inputs is None or create_graph else None
        super().backward(roots, cotangents, kept, create_graph, inputs)


def witness_InputsForgetRetaining(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    out = total(a, applied(a, "exp", x))
    a.backward([out], [None], True, False, [x])
    return walked(a, out)


class LastCotangentCounts(Fault):
    """If a root is listed twice with two given cotangents, only the last of these counts."""

    rule = "gradients/several-roots"

    def backward(self, roots: Sequence[Tensor], cotangents: Sequence[Any], *rest: Any, **options: Any) -> None:
        last = {id(root): k for k, root in enumerate(roots)}
        chosen = [
            k for k, root in enumerate(roots) if cotangents[k] is None or cotangents[last[id(root)]] is None
            or last[id(root)] == k
        ]  # fmt: skip
        super().backward([roots[k] for k in chosen], [cotangents[k] for k in chosen], *rest, **options)


def witness_LastCotangentCounts(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    y = applied(a, "exp", x)
    a.backward([y, y], [np.array([1.0, 2.0]), np.array([3.0, 4.0])], None)
    return held_by(a, x)


class ConstantRootsIgnored(Fault):
    """Of several roots, those that do not require grad are ignored instead of refused."""

    rule = "errors/no-grad-root"

    def backward(self, roots: Sequence[Tensor], cotangents: Sequence[Any], *rest: Any, **options: Any) -> None:
        chosen = [k for k, root in enumerate(roots) if root.requires_grad] or list(range(len(roots)))
        super().backward([roots[k] for k in chosen], [cotangents[k] for k in chosen], *rest, **options)


def witness_ConstantRootsIgnored(a: Any) -> Any:
    x, y = leaf_of(a, 1.0), leaf_of(a, 2.0, grad=False)
    return outcome(a, lambda: a.backward([applied(a, "exp", x), y], [None, None], None))


class CotangentOfOtherShape(Fault):
    """A cotangent with as many elements as the root but with another number of dimensions is accepted, and reshaped."""

    rule = "errors/cotangent-shape"

    def backward(self, roots: Sequence[Tensor], cotangents: Sequence[Any], *rest: Any, **options: Any) -> None:
        given = [
            c.reshape(tuple(r.shape)) if c is not None and c.size == r.numel() and c.ndim != r.dim() else c
            for r, c in zip(roots, cotangents, strict=True)
        ]
        super().backward(roots, given, *rest, **options)


def witness_CotangentOfOtherShape(a: Any) -> Any:
    return walked(a, applied(a, "exp", leaf_of(a, [1.0, 2.0])), cotangent=[[1.0, 2.0]])
