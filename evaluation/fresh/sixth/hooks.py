"""Faults of hooks and of values that retain their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from autograd_conformance.frameworks.adapter import HookFunction
from autograd_conformance.programs.language import Attrs
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import MATRIX, applied, held_by, hooked, leaf_of, outcome, total


class _Watched:
    """Hooks that are called unless `skips` says otherwise."""

    def skips(self, value: Tensor) -> bool:
        """Whether the hooks of a value are not called now."""
        return False

    def hook(self, value: Tensor, function: HookFunction) -> Any:
        def called(gradient: Any) -> Any:
            return None if self.skips(value) else function(gradient)

        return super().hook(value, called)  # type: ignore[misc]


class RetainedTooEarly(Fault):
    """A value that is no leaf retains its gradient as the hooks left it that were registered before retain_grad; later
    hooks are not counted: PyTorch, #35802.
    """

    rule = "hooks/retained"

    def hook(self, value: Tensor, function: HookFunction) -> Any:
        if value.is_leaf or not value.retains_grad:
            return super().hook(value, function)
        place = value.output_nr

        def called(cotangents: Sequence[Tensor]) -> tuple[Tensor, ...] | None:
            if cotangents[place] is None:
                return None
            new = function(cotangents[place])
            if new is not None and new.shape != cotangents[place].shape:
                raise RuntimeError("hook 'called' has changed the size of value")
            return None if new is None else (*cotangents[:place], new, *cotangents[place + 1 :])

        assert value.grad_fn is not None
        return value.grad_fn.register_prehook(called)


def witness_RetainedTooEarly(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    y = applied(a, "exp", x)
    a.retain_grad(y)
    hooked(a, y, [], "k", "scale", 3.0)
    a.backward([total(a, y)], [None], None)
    return held_by(a, x, y)


class InputHooksSkipped(_Watched, Fault):
    """The hooks of a value that is no leaf are not called by a functional call whose input the value is: PyTorch before
    #85849.
    """

    rule = "hooks/called"

    def reset(self) -> None:
        super().reset()
        self.asked: tuple[Tensor, ...] = ()

    def skips(self, value: Tensor) -> bool:
        return not value.is_leaf and any(value is x for x in self.asked)

    def grad(self, roots: Sequence[Tensor], inputs: Sequence[Tensor], *rest: Any) -> Sequence[Tensor | None]:
        self.asked = tuple(inputs)
        try:
            return super().grad(roots, inputs, *rest)
        finally:
            self.asked = ()


def witness_InputHooksSkipped(a: Any) -> Any:
    y = applied(a, "exp", leaf_of(a, [1.0, 2.0]))
    calls: list = []
    hooked(a, y, calls, "k", "scale", 3.0)
    (made,) = a.grad([total(a, y)], [y], [None], None, False, None, False)
    return calls, a.read(made).tolist()


class RetainedStaysBehind(Fault):
    """If a view of a value that retains its gradient is written to, the value retains the gradient of its state before
    the write: PyTorch, #117366.
    """

    rule = "hooks/retained"

    def reset(self) -> None:
        super().reset()
        self.behind: dict[int, tuple[Tensor, list[Tensor]]] = {}

    def write(self, op: str, target: Tensor, operands: Sequence[Tensor], attrs: Attrs) -> None:
        base = target._base
        watched = base is not None and not base.is_leaf and base.retains_grad and id(base) not in self.behind
        node, place = (base.grad_fn, base.output_nr) if watched and base is not None else (None, 0)
        super().write(op, target, operands, attrs)
        if base is not None and node is not None and base.grad_fn is not node:
            kept: list[Tensor] = [] if base.grad is None else [base.grad]
            self.behind[id(base)] = (base, kept)

            def called(cotangents: Sequence[Tensor]) -> None:
                if cotangents[place] is not None:
                    kept[:] = [cotangents[place].clone() if not kept else kept[0] + cotangents[place]]

            node.register_prehook(called)

    def zero_grad(self, leaves: Sequence[Tensor], set_to_none: bool) -> None:
        super().zero_grad(leaves, set_to_none)
        for leaf in leaves:
            if id(leaf) in self.behind:
                kept = self.behind[id(leaf)][1]
                kept[:] = [] if set_to_none else [0 * each for each in kept]

    def gradient(self, leaf: Tensor) -> Tensor | None:
        if id(leaf) in self.behind:
            kept = self.behind[id(leaf)][1]
            return kept[0] if kept else None
        return super().gradient(leaf)


def witness_RetainedStaysBehind(a: Any) -> Any:
    y = applied(a, "multiply_scalar", leaf_of(a, MATRIX), scalar=2.0)
    a.retain_grad(y)
    a.write("mul_scalar_", applied(a, "select", y, dim=0, index=0), [], (("scalar", 3),))
    a.backward([total(a, y)], [None], None)
    return held_by(a, y)


class PlaceOfRemovedHook(Fault):
    """A hook that is registered after another hook of the value was removed takes the first place in their order."""

    rule = "hooks/order"

    def hook(self, value: Tensor, function: HookFunction) -> Any:
        handle = super().hook(value, function)
        handle.owner = value
        hooks = value._backward_hooks
        if getattr(value, "has_place", False) and hooks is not None:
            value.has_place = False  # type: ignore[attr-defined]
            others = [(key, each) for key, each in hooks.items() if key != handle.id]
            new = hooks[handle.id]
            hooks.clear()
            hooks[handle.id] = new
            hooks.update(others)
        return handle

    def remove(self, handle: Any) -> None:
        super().remove(handle)
        if hasattr(handle, "owner"):
            handle.owner.has_place = True


def witness_PlaceOfRemovedHook(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    calls: list = []
    first, _ = hooked(a, x, calls, 1), hooked(a, x, calls, 2)
    a.remove(first)
    hooked(a, x, calls, 3)
    a.backward([total(a, x)], [None], None)
    return calls


class AccumulatedTooEarly(Fault):
    """In a call with create_graph, a post-accumulate hook of a leaf that held a gradient receives that old gradient:
    the leaf's new one is another tensor.
    """

    rule = "hooks/accumulated"

    def reset(self) -> None:
        super().reset()
        self.creating = False
        self.before: dict[int, Tensor | None] = {}
        self.watched: list[Tensor] = []

    def accumulated_hook(self, leaf: Tensor, function: HookFunction) -> Any:
        self.watched.append(leaf)

        def called(holding: Tensor) -> None:
            old = self.before.get(id(holding)) if self.creating else None
            function(holding.grad if old is None else old)  # type: ignore[arg-type]

        return leaf.register_post_accumulate_grad_hook(called)

    def backward(
        self,
        roots: Sequence[Tensor],
        cotangents: Sequence[Any],
        retain_graph: bool | None,
        create_graph: bool = False,
        inputs: Sequence[Tensor] | None = None,
    ) -> None:
        self.creating, self.before = create_graph, {id(leaf): leaf.grad for leaf in self.watched}
        try:
            super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        finally:
            self.creating, self.before = False, {}


def witness_AccumulatedTooEarly(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    calls: list = []
    a.accumulated_hook(x, lambda gradient: calls.append(a.read(gradient).tolist()))
    out = total(a, applied(a, "exp", x))
    for _ in range(2):
        a.backward([out], [None], None, True)
    return calls


class HooksOfRoots(_Watched, Fault):
    """The hooks of a root that is no leaf are not called if the call has several roots."""

    rule = "hooks/called"

    def reset(self) -> None:
        super().reset()
        self.roots: tuple[Tensor, ...] = ()

    def skips(self, value: Tensor) -> bool:
        return len(self.roots) > 1 and not value.is_leaf and any(value is root for root in self.roots)

    def backward(self, roots: Sequence[Tensor], *rest: Any, **options: Any) -> None:
        self.roots = tuple(roots)
        try:
            super().backward(roots, *rest, **options)
        finally:
            self.roots = ()


def witness_HooksOfRoots(a: Any) -> Any:
    y, z = (total(a, applied(a, "exp", leaf_of(a, [1.0, 2.0]))) for _ in range(2))
    calls: list = []
    hooked(a, z, calls, "k")
    a.backward([y, z], [None, None], None)
    return calls


class DeafAfterRaising(_Watched, Fault):
    """After a hook has raised an exception, the value's other hooks are never called again."""

    rule = "errors/recovers"

    def skips(self, value: Tensor) -> bool:
        return getattr(value, "is_deaf", False)

    def hook(self, value: Tensor, function: HookFunction) -> Any:
        def called(gradient: Any) -> Any:
            try:
                return function(gradient)
            except Exception:
                value.is_deaf = True  # type: ignore[attr-defined]
                raise

        return super().hook(value, called)


def witness_DeafAfterRaising(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    calls: list = []
    hooked(a, x, calls, "k")

    def fail(gradient: Any) -> Any:
        raise ValueError("no")

    handle = a.hook(x, fail)
    out = outcome(a, lambda: a.backward([total(a, x)], [None], None))
    a.remove(handle)
    a.backward([total(a, x)], [None], None)
    return out, calls
