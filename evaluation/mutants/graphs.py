"""Mutants whose fault is in whole graphs: uses, arguments, results, roots, cotangents or leaves are mixed up or
dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from autograd_conformance.programs.language import Attrs
from evaluation.mutants.mutant import Combining, Cotangents, Mutant, Recording, gated

Tensors = Sequence[torch.Tensor]


class DiamondOnce(Recording):
    """Of several gradient contributions to a value, only the first to arrive counts; those of one op count together."""

    killed_by = ("gradients/fan-out",)

    def reset(self) -> None:
        super().reset()
        self.arrived: set[int] = set()

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        seen: dict[int, torch.Tensor] = {}
        uses = [seen.setdefault(id(x), gated(x, partial(self._once, id(x)))) for x in operands]
        self.values.extend(operands)
        return super().apply(op, uses, attrs)

    def _once(self, key: int, contribution: torch.Tensor) -> torch.Tensor:
        late = key in self.arrived
        self.arrived.add(key)
        return torch.zeros_like(contribution) if late else contribution

    def backward(self, roots: Tensors, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        self.arrived = set()
        super().backward(roots, cotangents, retain_graph, **options)


class UseOnce(DiamondOnce):
    """Of several gradient contributions to a value, only the first to arrive counts, even among those of one op."""

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        uses = [gated(x, partial(self._once, id(x))) for x in operands]
        self.values.extend(operands)
        return Recording.apply(self, op, uses, attrs)


class FanOutOfSeven(Recording):
    """From the eighth use of a value on, its uses propagate no gradient."""

    killed_by = ("gradients/fan-out", "gradients/graph")
    longest = 20
    why_long = "eight uses of a value, and what joins them into one root"

    def reset(self) -> None:
        super().reset()
        self.uses: Counter[int] = Counter()

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        self.values.extend(operands)
        self.uses.update(map(id, operands))
        return super().apply(op, [gated(x, torch.zeros_like) if self.uses[id(x)] > 7 else x for x in operands], attrs)


class ArgumentOnce(Mutant):
    """An op that takes a value twice propagates the gradient of the first position only."""

    killed_by = ("gradients/same-argument",)

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        again = [any(x is y for y in operands[:k]) for k, x in enumerate(operands)]
        once = [gated(x, torch.zeros_like) if a else x for x, a in zip(operands, again, strict=True)]
        return super().apply(op, once, attrs)


class FirstResultOnly(Mutant):
    """Of an op with several results, only the first propagates gradients."""

    killed_by = ("gradients/several-results",)

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        first, *others = super().apply(op, operands, attrs)
        return [first, *(gated(y, torch.zeros_like) for y in others)]


class FirstRootOnly(Mutant):
    """Of several roots, a backward call uses only the first."""

    killed_by = ("gradients/several-roots",)

    def backward(self, roots: Tensors, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        super().backward(roots[:1], cotangents[:1], retain_graph, **options)


class RootOnce(Mutant):
    """A root that is listed twice counts once instead of twice."""

    killed_by = ("gradients/several-roots",)

    def backward(self, roots: Tensors, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        kept = [k for k, root in enumerate(roots) if not any(root is other for other in roots[:k])]
        super().backward([roots[k] for k in kept], [cotangents[k] for k in kept], retain_graph, **options)


class CotangentIgnored(Mutant):
    """A given cotangent is replaced by ones."""

    killed_by = ("gradients/cotangent",)

    def backward(self, roots: Tensors, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        super().backward(roots, [None if c is None else np.ones_like(c) for c in cotangents], retain_graph, **options)


class CotangentWritten(Mutant):
    """A given cotangent is doubled in place after its use."""

    killed_by = ("gradients/cotangent-kept",)

    def backward(self, roots: Tensors, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        super().backward(roots, cotangents, retain_graph, **options)
        for cotangent in cotangents:
            if cotangent is not None:
                cotangent *= 2


class CotangentSummed(Mutant):
    """Every element of a given cotangent is replaced by the cotangent's sum."""

    killed_by = ("gradients/cotangent",)

    def backward(self, roots: Tensors, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        super().backward(
            roots, [None if c is None else np.full_like(c, c.sum()) for c in cotangents], retain_graph, **options
        )


class EqualLeavesMerged(Mutant):
    """A leaf that equals an earlier one is taken for it: the earlier leaf gets the gradients of both."""

    killed_by = ("gradients/equal-leaves",)

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        return super().apply(op, [self._first(x) if x.is_leaf and x.requires_grad else x for x in operands], attrs)

    def _first(self, leaf: torch.Tensor) -> torch.Tensor:
        same = (x for x in self.leaves if x.requires_grad and x.dtype == leaf.dtype and torch.equal(x, leaf))
        return next(same, leaf)


class EqualLeavesSwapped(Combining):
    """Two leaves of equal values get each other's gradients."""

    killed_by = ("gradients/equal-leaves",)

    def backward(self, roots: Tensors, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        held = self.grads()
        self.set_grads([None] * len(held))
        super().backward(roots, cotangents, retain_graph, **options)
        made = self.grads()
        for n, leaf in enumerate(self.leaves):
            for m in range(n):
                if leaf.dtype == self.leaves[m].dtype and torch.equal(leaf, self.leaves[m]) and leaf.requires_grad:
                    made[n], made[m] = made[m], made[n]
        self.set_grads([self.combine(leaf, h, g) for leaf, h, g in zip(self.leaves, held, made, strict=True)])


class SingleGradients(Mutant):
    """Every gradient is float32, whatever the dtype of its leaf."""

    killed_by = ("gradients/form",)

    def gradient(self, leaf: torch.Tensor) -> torch.Tensor | None:
        return None if leaf.grad is None else leaf.grad.float()

    def identity(self, gradient: torch.Tensor) -> None:  # type: ignore[override]
        """Not claimed: the float32 copy is a new object at each read."""


class ScalarsBecomeVectors(Mutant):
    """The gradient of a 0-d leaf has shape (1,) instead of ()."""

    killed_by = ("gradients/form",)

    def gradient(self, leaf: torch.Tensor) -> torch.Tensor | None:
        return leaf.grad if leaf.grad is None or leaf.dim() else leaf.grad.reshape(1)


class DeepEnds(Recording):
    """Values computed by more than six ops in a row propagate no gradient."""

    killed_by = ("gradients/graph",)
    longest = 9  # a leaf, seven ops, a call

    def reset(self) -> None:
        super().reset()
        self.depth: dict[int, int] = {}

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        depth = 1 + max(self.depth.get(id(x), 0) for x in operands)
        made = super().apply(op, [gated(x, torch.zeros_like) for x in operands] if depth > 6 else operands, attrs)
        self.depth.update({id(value): depth for value in made})
        return made
