"""The tiny autograd with three faults, each of which many tests find; a report must show them as three causes.

The first gradient of a leaf is the array that arrived, which another leaf may store as well. Saved tensors of ops with
one operand are never freed. The derivative of tanh is 1 - y.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from autograd_conformance.programs.language import Attrs
from examples import tiny
from examples.tiny_adapter import OPS, Tiny


class Tensor(tiny.Tensor):
    """A tensor of the tiny autograd with a changed backward pass."""

    def detach(self) -> Tensor:
        return Tensor(self.data)

    def backward(self, cotangent: tiny.Tensor | None = None, retain_graph: bool = False) -> None:
        if not self.requires_grad:
            raise tiny.NoHistory("this tensor does not require grad")
        if cotangent is None:
            if self.data.size != 1:
                raise tiny.MissingCotangent("a cotangent can only be left out for a root of one element")
            cotangent = Tensor(np.ones_like(self.data))
        if cotangent.data.shape != self.data.shape:
            raise tiny.WrongCotangent("the cotangent has another shape than the root")
        order = tiny.history(self)
        if any(tensor.freed for tensor in order):
            raise tiny.GraphFreed("an earlier backward call freed this graph; give that call retain_graph=True")
        due = {self: np.array(cotangent.data)}
        for tensor in reversed(order):
            arrived = due.pop(tensor)
            if tensor.pull is None:
                tensor.grad = arrived if tensor.grad is None else tensor.grad + arrived
                continue
            for source, share in zip(tensor.inputs, tensor.pull(arrived), strict=True):
                if source.requires_grad:
                    due[source] = due[source] + share if source in due else share
            if not retain_graph and len(tensor.inputs) > 1:
                tensor.inputs, tensor.pull, tensor.freed = (), None, True


def add(a: tiny.Tensor, b: tiny.Tensor) -> tiny.Tensor:
    """Sum of two tensors that broadcast; its backward pass returns the cotangent itself."""
    return tiny.record(a.data + b.data, (a, b), lambda g: (_handed(g, a), _handed(g, b)))


def tanh(a: tiny.Tensor) -> tiny.Tensor:
    """Hyperbolic tangent with a faulty derivative."""
    y = np.tanh(a.data)
    return tiny.record(y, (a,), lambda g: (g * (1 - y),))


def _handed(cotangent: np.ndarray, source: tiny.Tensor) -> np.ndarray:
    return cotangent if cotangent.shape == source.data.shape else tiny.fold(cotangent, source)


OWN = {"add": add, "tanh": tanh}


class Faulty(Tiny):
    """The adapter of the faulty framework."""

    name = "faulty"
    ops = frozenset({*OPS, "tanh"})
    dialect = replace(
        Tiny.dialect,
        prelude="import numpy as np\n\nfrom examples import tiny\nfrom tests.frameworks.adapters import faulty",
        tensor="faulty.Tensor(np.array({data}, np.{dtype}){flags})",
        empty="faulty.Tensor(np.zeros({shape}, np.{dtype}){flags})",
        ops={
            **OPS,
            **{
                name: f"faulty.{name}({', '.join(f'{{{k}}}' for k in range(2 if name == 'add' else 1))})"
                for name in OWN
            },
        },
    )

    def leaf(self, data: np.ndarray, requires_grad: bool) -> tiny.Tensor:
        return Tensor(data, requires_grad)

    def apply(self, op: str, operands: Sequence[tiny.Tensor], attrs: Attrs) -> Sequence[tiny.Tensor]:
        made = (OWN.get(op) or getattr(tiny, op))(*operands, **dict(attrs))
        made.__class__ = Tensor
        return (made,)
