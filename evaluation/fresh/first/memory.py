"""Faults of values that are kept alive too long; each is also in the adapter that counts saved tensors."""

from __future__ import annotations

from typing import Any
from weakref import ref

from autograd_conformance.frameworks.pytorch.saved import TorchSaved
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, counting, held_by, leaf_of, reached, total


class _HooksHoldValues:
    def reset(self):
        super().reset()
        self.registry: dict[int, tuple[Any, Any]] = {}

    def hook(self, value, function):
        handle = super().hook(value, function)
        self.registry[id(handle)] = (handle, value)
        return handle

    def remove(self, handle):
        self.registry.pop(id(handle), None)
        super().remove(handle)


class _HooksHoldValuesCounted(_HooksHoldValues, TorchSaved):
    pass


class HooksHoldTheirValues(_HooksHoldValues, Fault):
    """The registry of hooks keeps the hooked values alive, so that their graphs stay after the last
    reference is gone.
    """

    rule = "memory/dropped"

    def saved_tensor_counter(self):
        return _HooksHoldValuesCounted(str(self.device))


def witness_HooksHoldTheirValues(a):
    a = counting(a)
    x = leaf_of(a, [1.0, 2.0])
    y = applied(a, "square", x)
    a.hook(y, lambda g: None)
    before = a.saved()
    del y
    return before, a.saved()


class _RetainedRecords:
    def reset(self):
        super().reset()
        self.kept: Any = None
        self.muted = False
        self.holders: list[Any] = []

    def hook(self, value, function):
        return super().hook(value, lambda g: None if self.muted else function(g))

    def retain_grad(self, value):
        super().retain_grad(value)
        self.holders.append(ref(value))

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        self.kept = None
        leaves = reached(roots, inputs) if retain_graph and not create_graph else []
        if leaves:
            aside = [(v, v.grad) for v in (r() for r in self.holders) if v is not None]
            copies = [None if c is None else c.copy() for c in cotangents]
            self.muted = True
            try:
                self.kept = super().grad(roots, leaves, copies, True, True, True, False)
            except RuntimeError:
                self.kept = None
            finally:
                self.muted = False
                for v, held in aside:
                    v.grad = held
        super().backward(roots, cotangents, retain_graph, create_graph, inputs)


class _RetainedRecordsCounted(_RetainedRecords, TorchSaved):
    pass


class RetainingRecords(_RetainedRecords, Fault):
    """A call that retains the graph records itself as if it had create_graph, and keeps that record until the next
    call.
    """

    rule = "memory/retained"

    def saved_tensor_counter(self):
        return _RetainedRecordsCounted(str(self.device))


def witness_RetainingRecords(a):
    a = counting(a)
    x = leaf_of(a, [1.0, 2.0])
    y = total(a, applied(a, "multiply", applied(a, "sin", x), x))
    before = a.saved()
    a.backward([y], [None], True)
    return before, a.saved(), held_by(a, x)


class _Pooled:
    def reset(self):
        super().reset()
        self.pool: dict[int, Any] = {}

    def _park(self, leaves):
        for leaf in leaves:
            if leaf.grad is not None:
                self.pool[id(leaf)] = leaf.grad

    def zero_grad(self, leaves, set_to_none):
        if set_to_none:
            self._park(leaves)
        super().zero_grad(leaves, set_to_none)

    def clear(self, leaves, optimizer, settings, set_to_none, groups=()):
        if set_to_none:
            self._park(leaves)
        super().clear(leaves, optimizer, settings, set_to_none, groups)


class _PooledCounted(_Pooled, TorchSaved):
    pass


class ClearedGradientsArePooled(_Pooled, Fault):
    """Clearing to None puts the gradient into a pool for reuse without detaching it, so that the graph of create_graph
    is never released.
    """

    rule = "memory/cycle"

    def saved_tensor_counter(self):
        return _PooledCounted(str(self.device))


def witness_ClearedGradientsArePooled(a):
    a = counting(a)
    x = leaf_of(a, [1.0, 2.0])
    y = total(a, applied(a, "sin", x))
    a.backward([y], [None], None, create_graph=True)
    a.zero_grad([x], True)
    del y
    return a.saved()
