"""Faults of hooks and of retained gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograd_conformance.frameworks.adapter import HookFunction, HookRaised
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.programs.language import Attrs
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, executed, hooked, leaf_of, outcome, total


class _Captured(Torch):
    """Stores gradients of values beside the framework's own."""

    def reset(self) -> None:
        super().reset()
        self.captured: dict[int, tuple[Tensor, Any, list[Tensor]]] = {}

    def capture(self, value: Tensor) -> None:
        """Store the sum of the gradients that pass here."""
        stored: list[Tensor] = []

        def add(gradient: Tensor) -> None:
            stored[:] = [gradient + stored[0]] if stored and value.grad is not None else [gradient]

        value.register_hook(add)
        self.captured[id(value)] = (value, value.grad_fn, stored)


class RetainsInTurn(_Captured, Fault):
    """A value retains its gradient at the time of the call of `retain_grad` among its hooks, so that later hooks do
    not change it: PyTorch before 2.0.
    """

    rule = "hooks/retained"

    def retain_grad(self, value: Tensor) -> None:
        super().retain_grad(value)
        if value.grad_fn is not None and id(value) not in self.captured:
            self.capture(value)

    def gradient(self, leaf: Tensor) -> Tensor | None:
        found = super().gradient(leaf)
        _, node, stored = self.captured.get(id(leaf), (leaf, None, []))
        if found is None or not stored or leaf.grad_fn is not node or torch.equal(stored[0], found):
            return found
        return stored[0]


def witness_RetainsInTurn(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    calls: list = []
    y = applied(a, "square", x)
    a.retain_grad(y)
    hooked(a, y, calls, "later", "scale", 3.0)
    a.backward([total(a, y)], [None], None)
    return a.read(a.gradient(y)).tolist()


class RetainsBeforeWrite(_Captured, Fault):
    """A value that retains its gradient and is then written to retains the gradient of its earlier value: PyTorch
    before it moved such hooks to the new node.
    """

    rule = "hooks/retained"

    def write(self, op: str, target: Tensor, operands: Sequence[Tensor], attrs: Attrs) -> None:
        node = target.grad_fn
        if node is not None and target.retains_grad and torch.is_grad_enabled() and not target._is_view():
            self.capture(target)
        super().write(op, target, operands, attrs)

    def gradient(self, leaf: Tensor) -> Tensor | None:
        found = super().gradient(leaf)
        _, node, stored = self.captured.get(id(leaf), (leaf, leaf.grad_fn, []))
        return stored[0] if found is not None and stored and node is not leaf.grad_fn else found


def witness_RetainsBeforeWrite(a: Any) -> Any:
    y = applied(a, "square", leaf_of(a, [1.0, 2.0]))
    a.retain_grad(y)
    a.write("mul_scalar_", y, [], (("scalar", 3),))
    a.backward([total(a, y)], [None], None)
    return a.read(a.gradient(y)).tolist()


class CapturesBeforeHooks(Fault):
    """The functional form takes the gradient of an inner input before the value's hooks, which are not called:
    PyTorch before 2.0.
    """

    rule = "hooks/called"

    def reset(self) -> None:
        super().reset()
        self.silent: set[int] = set()

    def hook(self, value: Tensor, function: HookFunction) -> Any:
        return super().hook(value, lambda gradient: None if id(value) in self.silent else function(gradient))

    def grad(self, roots: Sequence[Tensor], inputs: Sequence[Tensor], *call: Any) -> Sequence[Tensor | None]:
        nodes = executed(roots, inputs) if all(r.requires_grad for r in roots) else []
        self.silent = {id(x) for x in inputs if x.grad_fn is not None and x.grad_fn not in nodes}
        try:
            return super().grad(roots, inputs, *call)
        finally:
            self.silent = set()


def witness_CapturesBeforeHooks(a: Any) -> Any:
    y = applied(a, "square", leaf_of(a, [1.0, 2.0]))
    calls: list = []
    hooked(a, y, calls, "inner", "scale", 3.0)
    (g,) = a.grad([total(a, y)], [y], [None], None, False, None, False)
    return a.read(g).tolist(), calls


class RaisingStopsRecording(Fault):
    """If a hook raises in a call that creates no graph, the mode of the walk remains: nothing is recorded any more."""

    rule = "errors/recovers"

    def reset(self) -> None:
        super().reset()
        torch.set_grad_enabled(True)

    def backward(
        self,
        roots: Sequence[Tensor],
        cotangents: Sequence[Any],
        retain_graph: bool | None,
        create_graph: bool = False,
        inputs: Sequence[Tensor] | None = None,
    ) -> None:
        try:
            super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        except HookRaised:
            torch.set_grad_enabled(create_graph and torch.is_grad_enabled())
            raise


def witness_RaisingStopsRecording(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])

    def refuse(gradient: Any) -> Any:
        raise HookRaised

    a.hook(x, refuse)
    out = total(a, applied(a, "square", x))
    raised = outcome(a, lambda: a.backward([out], [None], None))
    recorded = a.requires_grad(applied(a, "square", x))
    torch.set_grad_enabled(True)
    return raised, recorded


class ObserverRestores(Fault):
    """A hook that returns nothing passes on the gradient that arrived at the value, without the changes of the hooks
    before it.
    """

    rule = "hooks/result"

    def reset(self) -> None:
        super().reset()
        self.chains: dict[tuple[int, int], tuple[Tensor, Any, list[HookFunction]]] = {}

    def hook(self, value: Tensor, function: HookFunction) -> Any:
        place = (id(value), id(value.grad_fn))
        if place not in self.chains:
            functions: list[HookFunction] = []
            super().hook(value, lambda gradient: self._called(functions, gradient))
            self.chains[place] = (value, value.grad_fn, functions)
        functions = self.chains[place][2]
        functions.append(function)
        return functions, function

    @staticmethod
    def _called(functions: Sequence[HookFunction], gradient: Tensor) -> Tensor | None:
        current = gradient
        for function in list(functions):
            made = function(current)
            if made is not None and made.shape != gradient.shape:
                return made
            current = gradient if made is None else made
        return None if current is gradient else current

    def remove(self, handle: Any) -> None:
        if not isinstance(handle, tuple):
            super().remove(handle)
        elif handle[1] in handle[0]:
            handle[0].remove(handle[1])


def witness_ObserverRestores(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    calls: list = []
    hooked(a, x, calls, "scale", "scale", 3.0)
    hooked(a, x, calls, "observe")
    a.backward([total(a, x)], [None], None)
    return a.read(a.gradient(x)).tolist(), calls
