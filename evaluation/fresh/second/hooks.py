"""Faults of hooks, whose lists the adapter keeps."""

from __future__ import annotations

from weakref import ref

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, held_by, hooked, leaf_of, walked


class _OwnHooks:
    """Hook lists in the adapter, which a single hook of PyTorch runs; this alone is not a fault."""

    def reset(self):
        super().reset()
        self.lists = {}

    def hook(self, value, function):
        key = (id(value), value._version)
        there = self.lists.get(key)
        if there is None or there[0]() is not value:
            functions = []
            value.register_hook(lambda gradient: self.run_hooks(functions, gradient))  # PyTorch refuses what it refuses
            there = self.lists[key] = (ref(value), functions)
        functions = there[1]
        entry = [function]
        functions.append(entry)
        return functions, entry, len(functions) - 1

    def remove(self, handle):
        if not isinstance(handle, tuple):
            super().remove(handle)
            return
        self.take_away(*handle)

    def take_away(self, functions, entry, place):
        functions[:] = [f for f in functions if f is not entry]

    def run_hooks(self, functions, gradient):
        result = None
        for (function,) in list(functions):
            made = function(gradient)
            if made is not None:
                if made.shape != gradient.shape:
                    return made  # PyTorch raises
                result = gradient = made
        return result


class HooksSeeOriginal(_OwnHooks, Fault):
    """Each hook of a value is called with the original gradient instead of the previous hook's result, and the last
    result counts.
    """

    rule = "hooks/order"

    def run_hooks(self, functions, gradient):
        result = None
        for (function,) in list(functions):
            made = function(gradient)
            if made is not None:
                result = made
                if made.shape != gradient.shape:
                    return made  # PyTorch raises
        return result


def witness_HooksSeeOriginal(a):
    x, calls = leaf_of(a, [1.0, 2.0]), []
    y = applied(a, "square", x)
    for factor in (2.0, 5.0):
        hooked(a, y, calls, factor, "scale", factor)
    return walked(a, y, None, [1.0, 1.0]), calls, held_by(a, x)


class RemovesByPosition(_OwnHooks, Fault):
    """A hook's handle is its index in the list, so that after an earlier hook was removed it removes another one or
    none.
    """

    rule = "hooks/removed"

    def take_away(self, functions, entry, place):
        if place < len(functions):
            del functions[place]


def witness_RemovesByPosition(a):
    x, calls = leaf_of(a, [1.0, 2.0]), []
    y = applied(a, "square", x)
    for handle in [hooked(a, y, calls, factor, "scale", factor) for factor in (2.0, 5.0)]:
        a.remove(handle)
    return walked(a, y, None, [1.0, 1.0]), calls, held_by(a, x)
