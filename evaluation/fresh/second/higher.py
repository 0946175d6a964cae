"""Faults of gradients with a history."""

from __future__ import annotations

import numpy as np
import torch

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import after, applied, held_by, leaf_of, walked


class RetainCreates(Fault):
    """The functional form takes retain_graph for create_graph, so that its gradients have a history."""

    rule = "higher/plain-raises"

    def grad(self, roots, inputs, cotangents, retain_graph, create_graph, allow_unused, materialize_grads):
        create_graph = create_graph or bool(retain_graph)
        return super().grad(roots, inputs, cotangents, retain_graph, create_graph, allow_unused, materialize_grads)


def witness_RetainCreates(a):
    x = leaf_of(a, [1.0, 2.0])
    (g,) = a.grad([applied(a, "square", x)], [x], [np.ones(2)], True, False, None, False)
    return walked(a, g, None, [1.0, 1.0]), held_by(a, x)


class SavedResultConstant(Fault):
    """The derivatives of exp, sigmoid and tanh use the saved result without its history, so that second derivatives
    lack a term.
    """

    rule = "higher/op"

    def apply(self, op, operands, attrs):
        made = super().apply(op, operands, attrs)
        if op in ("exp", "sigmoid", "tanh") and made[0].grad_fn is not None:
            result = made[0].detach()

            def back(grads, outs):
                if grads[0] is None or outs[0] is None or not torch.is_grad_enabled():
                    return None
                slope = {"exp": result, "sigmoid": result * (1 - result), "tanh": 1 - result * result}[op]
                return [outs[0] * slope]

            after(made[0], back)
        return made


def witness_SavedResultConstant(a):
    x = leaf_of(a, [0.5, 1.0])
    y = applied(a, "square", applied(a, "exp", x))
    (g,) = a.grad([y], [x], [np.ones(2)], None, True, None, False)
    return walked(a, g, None, [1.0, 1.0]), held_by(a, x)


class SumOfUsesLosesHistory(Fault):
    """The gradients of a value's several uses are summed in a plain buffer, so that with create_graph their sum has no
    history.
    """

    rule = "higher/differentiable"

    def reset(self):
        super().reset()
        self.used = {}

    def apply(self, op, operands, attrs):
        made = super().apply(op, operands, attrs)
        if torch.is_grad_enabled() and any(y.requires_grad for y in made):
            for x in {id(x): x for x in operands}.values():
                if x.requires_grad:
                    key = (id(x), x._version)
                    count = self.used.get(key, (x, 0))[1] + 1
                    self.used[key] = (x, count)
                    if count == 2:
                        x.register_hook(lambda g: g.detach() if torch.is_grad_enabled() else None)
        return made


def witness_SumOfUsesLosesHistory(a):
    x = leaf_of(a, [1.0, 2.0])
    y = applied(a, "square", x)
    z = applied(a, "multiply", applied(a, "exp", y), y)
    (g,) = a.grad([z], [x], [np.ones(2)], None, True, None, False)
    return walked(a, g, None, [1.0, 1.0]), held_by(a, x)
