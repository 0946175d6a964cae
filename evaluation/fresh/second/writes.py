"""Faults of writes to values that are not views."""

from __future__ import annotations

import numpy as np
import torch

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import WRITTEN, after, applied, held_by, leaf_of, legal, passed, walked


class MultiplySavesLate(Fault):
    """An in-place multiplication saves its target after the write, so that the factor's gradient is computed with the
    product.
    """

    rule = "writes/recorded"

    def write(self, op, target, operands, attrs):
        super().write(op, target, operands, attrs)
        if op == "mul_" and not target._is_view() and target.requires_grad and torch.is_grad_enabled():
            factor = operands[0]
            if factor.requires_grad and target.grad_fn is not None and target.grad_fn.name() == "MulBackward0":
                version, values = factor._version, factor.detach().clone()

                def back(grads, _):
                    if grads[1] is None:
                        return None
                    return [grads[0], grads[1] * (factor if factor._version == version else values)]

                after(target, back)


def witness_MultiplySavesLate(a):
    x, y = leaf_of(a, [1.0, 2.0]), leaf_of(a, [3.0, 4.0])
    z = applied(a, "square", x)
    a.write("mul_", z, [y], ())
    a.backward([z], [np.ones(2)], None)
    return held_by(a, x, y)


class OverwrittenStillFlows(Fault):
    """Assigning to a slice or an index of a value does not stop the gradient of the overwritten part."""

    rule = "writes/recorded"

    def write(self, op, target, operands, attrs):
        super().write(op, target, operands, attrs)
        part = op in ("set_slice_", "set_slice_fill_", "set_index_", "set_index_fill_") and not target._is_view()
        if part and torch.is_grad_enabled() and target.grad_fn is not None and "CopySlices" in target.grad_fn.name():

            def back(grads, outs):
                if grads[0] is None or outs[0] is None:
                    return None
                return [outs[0].clone(), *grads[1:]]

            after(target, back)


def witness_OverwrittenStillFlows(a):
    x, y = leaf_of(a, [1.0, 2.0, 3.0]), leaf_of(a, [5.0, 6.0])
    z = applied(a, "square", x)
    a.write("set_slice_", z, [y], (("start", 0), ("stop", 2), ("step", 1)))
    a.backward([z], [np.ones(3)], None)
    return held_by(a, x, y)


class SumSavesOperands(Fault):
    """Sums and differences save their operands though their derivatives need none, so that a write to one makes the
    backward call raise.
    """

    rule = "writes/unsaved-works"

    def reset(self):
        super().reset()
        self.kept = []

    def apply(self, op, operands, attrs):
        made = super().apply(op, operands, attrs)
        if op in ("add", "subtract") and made[0].grad_fn is not None:
            self.kept.append((made[0].grad_fn, [(x, x._version) for x in operands]))
        return made

    def _check(self, roots, cotangents, inputs):
        if self.kept and legal(roots, cotangents):
            nodes = passed(roots, inputs)
            for node, saved in self.kept:
                if node in nodes and any(x._version != version for x, version in saved):
                    raise RuntimeError(WRITTEN)

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        self._check(roots, cotangents, inputs)
        super().backward(roots, cotangents, retain_graph, create_graph, inputs)

    def grad(self, roots, inputs, cotangents, *call):
        self._check(roots, cotangents, inputs)
        return super().grad(roots, inputs, cotangents, *call)


def witness_SumSavesOperands(a):
    x = leaf_of(a, [1.0, 2.0])
    y = applied(a, "negative", x)
    z = applied(a, "add", y, x)
    a.write("mul_scalar_", y, [], (("scalar", 3.0),))
    return walked(a, z, None, [1.0, 1.0]), held_by(a, x)
