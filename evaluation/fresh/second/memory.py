"""Faults of tensors that are kept too long or too often, in the adapter that counts saved tensors."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from autograd_conformance.frameworks.pytorch.saved import TorchSaved
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, counting, leaf_of


class _Late(TorchSaved):
    def reset(self):
        super().reset()
        self.late = []

    def backward(self, *call, **options):
        before = list(self.boxes)
        super().backward(*call, **options)
        self.late = before

    def grad(self, *call):
        before = list(self.boxes)
        made = super().grad(*call)
        self.late = before
        return made


class ReleasedOneCallLate(Fault):
    """The tensors that a call frees are put on a list, which only the next call empties."""

    rule = "memory/freed"

    def saved_tensor_counter(self):
        return _Late(str(self.device))


def witness_ReleasedOneCallLate(a):
    a = counting(a)
    y = applied(a, "exp", applied(a, "square", leaf_of(a, [1.0, 2.0])))
    a.backward([y], [np.ones(2)], None)
    return a.saved()


class _Again(TorchSaved):
    def reset(self):
        super().reset()
        self.copies = WeakKeyDictionary()

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        before = list(self.boxes)
        super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        if retain_graph and not create_graph:
            mine = [b for b in before if b in self.copies]
            copies = {id(c) for b in mine for c in self.copies[b]}
            for box in before:
                if id(box) not in copies:
                    self.copies.setdefault(box, []).append(self._pack(box.tensor))


class RetainedSavesAgain(Fault):
    """A call that retains the graph adds a second copy of each saved tensor."""

    rule = "memory/retained"

    def saved_tensor_counter(self):
        return _Again(str(self.device))


def witness_RetainedSavesAgain(a):
    a = counting(a)
    y = applied(a, "square", leaf_of(a, [1.0, 2.0]))
    seen = [a.saved()]
    for retain in (True, True, False):
        a.backward([y], [np.ones(2)], retain)
        seen.append(a.saved())
    return seen
