"""Faults of writes to values that are not views."""

from __future__ import annotations

from typing import Any
from weakref import ref

import numpy as np
import torch
import torch.nn.functional as F

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import WRITTEN, after, applied, executed, held_by, leaf_of, total, walked


class SumsCheckTheirOperands(Fault):
    """The tape checks all operands' versions, even those of sums and differences, whose derivatives need
    none of them.
    """

    rule = "writes/unsaved-works"
    LINEAR = frozenset({"add", "subtract", "sum", "negative", "add_scalar", "subtract_scalar", "concat", "stack"})

    def apply(self, op, operands, attrs):
        versions = [(ref(x), x._version) for x in operands]
        made = super().apply(op, operands, attrs)
        if op in self.LINEAR and made[0].grad_fn is not None:
            made[0].grad_fn.metadata["operands"] = versions
        return made

    @staticmethod
    def _check(nodes: Any) -> None:
        for n in nodes:
            for operand, version in n.metadata.get("operands", ()):
                if operand() is not None and operand()._version != version:
                    raise RuntimeError(WRITTEN)

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        self._check(executed(roots, inputs))
        super().backward(roots, cotangents, retain_graph, create_graph, inputs)

    def grad(self, roots, inputs, *rest):
        self._check(executed(roots, inputs))
        return super().grad(roots, inputs, *rest)


def witness_SumsCheckTheirOperands(a):
    x = leaf_of(a, [1.0, 2.0])
    y = applied(a, "multiply_scalar", x, scalar=1.5)
    z = total(a, applied(a, "add", y, y))
    a.write("mul_scalar_", y, [], (("scalar", 10.0),))
    return walked(a, z), held_by(a, x)


class OverwrittenPartKeepsItsGradient(Fault):
    """Assigning to an index or a slice of a value with a history does not stop the gradient of the overwritten part."""

    rule = "writes/recorded"

    def write(self, op, target, operands, attrs):
        plain = target.is_leaf or not target.requires_grad or not torch.is_grad_enabled()
        if op not in ("set_slice_", "set_index_") or plain:
            return super().write(op, target, operands, attrs)
        given = dict(attrs)
        (value,) = operands
        at = slice(given["start"], given["stop"], given["step"]) if op == "set_slice_" else given["index"]
        piece = target[at]
        if value.dim() > piece.dim() or torch.broadcast_shapes(piece.shape, value.shape) != piece.shape:
            return super().write(op, target, operands, attrs)
        exact = value.detach().to(piece.dtype).clone()
        piece.add_(value - piece.detach())
        target.detach().data[at] = exact  # without the rounding of the sum
        return None


def witness_OverwrittenPartKeepsItsGradient(a):
    x, v = leaf_of(a, [1.0, 2.0, 3.0]), leaf_of(a, [7.0, 8.0])
    y = applied(a, "multiply_scalar", x, scalar=2.0)
    a.write("set_slice_", y, [v], (("start", 0), ("stop", 2), ("step", 1)))
    return walked(a, total(a, y)), a.read(y).tolist(), held_by(a, x, v)


class UnrecordedWriteCuts(Fault):
    """A write under no_grad to a value with a history removes the history."""

    rule = "modes/unrecorded-write"

    def write(self, op, target, operands, attrs):
        super().write(op, target, operands, attrs)
        if not torch.is_grad_enabled() and target.grad_fn is not None and not target._is_view():
            target.detach_()


def witness_UnrecordedWriteCuts(a):
    x = leaf_of(a, [1.0, 2.0])
    y = applied(a, "multiply_scalar", x, scalar=3.0)
    with a.mode("no_grad"):
        a.write("add_scalar_", y, [], (("scalar", 1.0),))
    return a.requires_grad(y), walked(a, total(a, y)), held_by(a, x)


class EluInPlaceOverwritten(Fault):
    """The derivative of in-place elu computes alpha * exp(x) from the memory that the result has overwritten."""

    rule = "writes/recorded"

    def write(self, op, target, operands, attrs):
        before = target.grad_fn
        super().write(op, target, operands, attrs)
        if op == "elu_" and not target._is_view() and target.grad_fn is not before:
            alpha, y = dict(attrs)["alpha"], target.detach()
            after(
                target,
                lambda gi, go: [g if g is None else torch.where(y < 0, go[0] * alpha * torch.exp(y), g) for g in gi],
            )


def witness_EluInPlaceOverwritten(a):
    x = leaf_of(a, [-1.0, 0.5])
    y = applied(a, "multiply_scalar", x, scalar=1.0)
    a.write("elu_", y, [], (("alpha", 1.0),))
    a.backward([y], [np.ones(2)], None)
    return held_by(a, x)


class MaskedScatterSource(Fault):
    """The gradient of masked_scatter_'s source is read at the source's positions instead of those that the mask
    selects.
    """

    rule = "writes/recorded"

    def write(self, op, target, operands, attrs):
        before = target.grad_fn
        super().write(op, target, operands, attrs)
        if op == "masked_scatter_" and not target._is_view() and target.grad_fn is not before:
            mask = torch.tensor(dict(attrs)["mask"], dtype=torch.bool, device=self.device).expand(target.shape)

            def misread(gi, go):
                if len(gi) > 1 and gi[1] is not None:
                    flat = (go[0] * mask).reshape(-1)[: gi[1].numel()]
                    gi[1] = F.pad(flat, (0, gi[1].numel() - flat.numel())).reshape(gi[1].shape)
                return gi

            after(target, misread)


def witness_MaskedScatterSource(a):
    x, s = leaf_of(a, [1.0, 2.0, 3.0]), leaf_of(a, [5.0, 7.0])
    y = applied(a, "multiply_scalar", x, scalar=2.0)
    a.write("masked_scatter_", y, [s], (("mask", (False, True, True)),))
    a.backward([y], [np.array([1.0, 2.0, 3.0])], None)
    return held_by(a, x, s)
