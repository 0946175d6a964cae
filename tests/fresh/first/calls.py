"""Forty-two faults of a stranger: lifetime, accumulation, errors, modes, hooks, writes, memory, training.

Each class is PyTorch with one fault; `witness_<class>` drives an adapter so that the fault shows.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import ref

import numpy as np
import torch

from autograd_conformance.frameworks.base import HookRaised
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.pytorch.saved import TorchSaved
from tests.fresh.fault import Fault

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed)."
)
WRITTEN = "one of the variables needed for gradient computation has been modified by an inplace operation"

# ---------------------------------------------------------------------------------------------------------------------
# What faults ask of a graph


def graph(roots: Sequence[torch.Tensor]) -> list[Any]:
    """Every node that the roots lead to, each once."""
    todo = [r.grad_fn for r in roots if r.grad_fn is not None]
    seen: dict[Any, None] = {}
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen[node] = None
        todo.extend(n for n, _ in node.next_functions if n is not None)
    return list(seen)


def is_leaf_node(node: Any) -> bool:
    return hasattr(node, "variable")


def executed(roots: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor] | None) -> list[Any]:
    """The nodes that a call executes: with inputs only those on the way to one."""
    nodes = graph(roots)
    if inputs is None:
        return nodes
    ids = {id(x) for x in inputs}
    targets = {x.grad_fn for x in inputs if x.grad_fn is not None}
    targets |= {n for n in nodes if is_leaf_node(n) and id(n.variable) in ids}
    needed: set[Any] = set()
    grown = True
    while grown:
        grown = False
        for n in nodes:
            if n not in needed and any(m in targets or m in needed for m, _ in n.next_functions):
                needed.add(n)
                grown = True
    return [n for n in nodes if n in needed or (is_leaf_node(n) and n in targets)]


def reached(roots: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor] | None = None) -> list[torch.Tensor]:
    """The leaves that a call accumulates into."""
    found = {id(n.variable): n.variable for n in graph(roots) if is_leaf_node(n)}
    found |= {id(r): r for r in roots if r.is_leaf and r.requires_grad}
    wanted = None if inputs is None else {id(x) for x in inputs}
    return [v for k, v in found.items() if wanted is None or k in wanted]


def saved_by(node: Any) -> list[torch.Tensor]:
    """The tensors that a node has saved and still holds."""
    found: list[torch.Tensor] = []
    for name in dir(node):
        if not name.startswith("_raw_saved_"):
            continue
        try:
            value = getattr(node, "_saved_" + name.removeprefix("_raw_saved_"))
        except RuntimeError:  # freed, or written to since
            continue
        found += [v for v in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(v, torch.Tensor)]
    return found


def retains(retain_graph: bool | None, create_graph: bool) -> bool:
    return create_graph if retain_graph is None else retain_graph


def zeros_for(gradients: Any) -> Any:
    return tuple(None if g is None else torch.zeros_like(g) for g in gradients)


# ---------------------------------------------------------------------------------------------------------------------
# gradients


class RootTwiceCountsOnce(Fault):
    """A root that is listed twice in one call is put into the queue once, with its first cotangent."""

    rule, family = "gradients/several-roots", "gradients"

    @staticmethod
    def _once(roots: Any, cotangents: Any) -> tuple[list[Any], list[Any]]:
        first = {id(r): k for k, r in reversed(list(enumerate(roots)))}
        kept = sorted(first.values())
        return [roots[k] for k in kept], [cotangents[k] for k in kept]

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        super().backward(*self._once(roots, cotangents), retain_graph, create_graph, inputs)

    def grad(self, roots, inputs, cotangents, *rest):
        roots, cotangents = self._once(roots, cotangents)
        return super().grad(roots, inputs, cotangents, *rest)


class InnerRootLosesItsSeed(Fault):
    """Where one root of a call was computed from another one, the inner root's own cotangent is overwritten by what comes from above."""

    rule, family = "gradients/several-roots", "gradients"

    @staticmethod
    def _seeds(roots: Any, cotangents: Any) -> list[Any]:
        made = list(cotangents)
        for k, root in enumerate(roots):
            node = root.grad_fn
            if node is None:
                continue
            if any(other.grad_fn is not node and node in graph([other]) for other in roots):
                if made[k] is not None:
                    made[k] = np.zeros_like(made[k])
                elif root.numel() == 1:
                    made[k] = np.zeros_like(root.numpy(force=True))
        return made

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        super().backward(roots, self._seeds(roots, cotangents), retain_graph, create_graph, inputs)

    def grad(self, roots, inputs, cotangents, *rest):
        return super().grad(roots, inputs, self._seeds(roots, cotangents), *rest)


# ---------------------------------------------------------------------------------------------------------------------
# accumulation


class ZeroingStopsAtNone(Fault):
    """Clearing several leaves to zeros returns at the first leaf that holds no gradient, where it should go on with the next."""

    rule, family = "accumulation/zero-to-zeros", "accumulation"

    def zero_grad(self, leaves, set_to_none):
        if set_to_none:
            return super().zero_grad(leaves, set_to_none)
        for leaf in leaves:
            if leaf.grad is None:
                return None
            leaf.grad.zero_()
        return None


class AssignedIsOverwritten(Fault):
    """The accumulator adds to a buffer of its own, so that a gradient which was assigned is lost at the next backward call."""

    rule, family = "accumulation/assigned", "accumulation"

    def reset(self):
        super().reset()
        self.buffers: dict[int, tuple[Any, torch.Tensor | None]] = {}

    def assign_grad(self, leaf, value):
        old = leaf.grad if leaf.is_leaf else None
        super().assign_grad(leaf, value)
        if leaf.is_leaf and value is not None and id(leaf) not in self.buffers:
            self.buffers[id(leaf)] = (ref(leaf), None if old is None else old.detach().clone())
        elif value is None:
            self.buffers.pop(id(leaf), None)

    def _clean(self, leaves):
        for leaf in leaves:
            self.buffers.pop(id(leaf), None)

    def zero_grad(self, leaves, set_to_none):
        super().zero_grad(leaves, set_to_none)
        self._clean(leaves)

    def clear(self, leaves, *rest, **options):
        super().clear(leaves, *rest, **options)
        self._clean(leaves)

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        stale = []
        for leaf in reached(roots, inputs):
            known = self.buffers.get(id(leaf))
            if known is not None and known[0]() is leaf and leaf.requires_grad:
                stale.append((leaf, leaf.grad))
                leaf.grad = known[1]
        try:
            super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        except BaseException:
            for leaf, assigned in stale:
                leaf.grad = assigned
            raise
        self._clean([leaf for leaf, _ in stale])


class SumSharesItsGradient(Fault):
    """The derivative of `a + b` hands one and the same tensor to both leaves, which keep it as their first gradient."""

    rule, family = "accumulation/own-object", "accumulation"

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        nodes, pairs = graph(roots), []
        uses: dict[int, int] = {}
        for n in nodes:
            for m, _ in n.next_functions:
                if m is not None and is_leaf_node(m):
                    uses[id(m.variable)] = uses.get(id(m.variable), 0) + 1
        for n in nodes:
            ends = [m for m, _ in n.next_functions]
            if n.name() == "AddBackward0" and len(ends) == 2 and all(m is not None and is_leaf_node(m) for m in ends):
                a, b = (m.variable for m in ends)
                alone = a is not b and uses[id(a)] == uses[id(b)] == 1
                alike = a.shape == b.shape and a.dtype == b.dtype and a.stride() == b.stride()
                if alone and alike and a.grad is None and b.grad is None:
                    pairs.append((a, b))
        super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        for a, b in pairs:
            if not create_graph and a.grad is not None and b.grad is not None and torch.equal(a.grad, b.grad):
                b.grad = a.grad


class EveryLeafOnTheTape(Fault):
    """A backward call gives zeros to every leaf without a gradient that was used since the last walk, whether or not the root depends on it."""

    rule, family = "accumulation/unreached", "accumulation"

    def reset(self):
        super().reset()
        self.tape: list[Any] = []

    def apply(self, op, operands, attrs):
        made = super().apply(op, operands, attrs)
        if torch.is_grad_enabled():
            self.tape += [ref(x) for x in operands if x.is_leaf and x.requires_grad]
        return made

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        if inputs is None:
            for leaf in (r() for r in self.tape):
                if leaf is not None and leaf.requires_grad and leaf.is_leaf and leaf.grad is None:
                    leaf.grad = torch.zeros_like(leaf)
        if not retains(retain_graph, create_graph):
            self.tape.clear()


# ---------------------------------------------------------------------------------------------------------------------
# lifetime


class RetainedForEver(Fault):
    """A root that was once walked with its graph retained is never freed again: retain_graph sticks to the root."""

    rule, family = "lifetime/last-call-frees", "lifetime"

    @staticmethod
    def _sticky(roots: Any, retain_graph: Any, create_graph: bool) -> Any:
        nodes = [r.grad_fn for r in roots if r.grad_fn is not None]
        stuck = any(n.metadata.get("retained") for n in nodes)
        if retains(retain_graph, create_graph):
            for n in nodes:
                n.metadata["retained"] = True
        return True if stuck else retain_graph

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        retain_graph = self._sticky(roots, retain_graph, create_graph)
        super().backward(roots, cotangents, retain_graph, create_graph, inputs)

    def grad(self, roots, inputs, cotangents, retain_graph, create_graph, *rest):
        retain_graph = self._sticky(roots, retain_graph, create_graph)
        return super().grad(roots, inputs, cotangents, retain_graph, create_graph, *rest)


class LeafSavedOnce(Fault):
    """Two graphs that save the same leaf share one saved copy of it, so that freeing the one frees the other's, too."""

    rule, family = "lifetime/independent", "lifetime"

    def reset(self):
        super().reset()
        self.released: dict[int, tuple[Any, int]] = {}

    @staticmethod
    def _leaves(nodes: Any) -> list[tuple[Any, torch.Tensor]]:
        return [(n, v) for n in nodes if not is_leaf_node(n) for v in saved_by(n) if v.is_leaf and v.requires_grad]

    def _check(self, nodes: Any) -> None:
        for n, v in self._leaves(nodes):
            at = self.released.get(id(v))
            if at is not None and at[0]() is v and n._sequence_nr() < at[1]:
                raise RuntimeError(FREED)

    def _release(self, held: list[tuple[Any, torch.Tensor]]) -> None:
        with torch.enable_grad():
            now = (torch.ones(1, requires_grad=True) * 1).grad_fn._sequence_nr()
        for _, v in held:
            self.released[id(v)] = (ref(v), now)

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        nodes = executed(roots, inputs)
        held = self._leaves(nodes)
        self._check(nodes)
        super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        if not retains(retain_graph, create_graph):
            self._release(held)

    def grad(self, roots, inputs, cotangents, retain_graph, create_graph, *rest):
        nodes = executed(roots, inputs)
        held = self._leaves(nodes)
        self._check(nodes)
        made = super().grad(roots, inputs, cotangents, retain_graph, create_graph, *rest)
        if not retains(retain_graph, create_graph):
            self._release(held)
        return made


def _scratch(forward: Callable[[Any], Any], local: Callable[[Any], Any]) -> type[torch.autograd.Function]:
    class InScratch(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = forward(x)
            ctx.save_for_backward(y)
            ctx.scratch = None
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            if torch.is_grad_enabled():
                return g * local(y)
            if ctx.scratch is None:
                ctx.scratch = local(y).clone()
            return ctx.scratch.mul_(g).clone()

    return InScratch


_SCRATCH = {
    "exp": _scratch(torch.exp, lambda y: y),
    "sigmoid": _scratch(torch.sigmoid, lambda y: torch.ops.aten.sigmoid_backward(torch.ones_like(y), y)),
}


class FactorMultipliedInPlace(Fault):
    """The derivatives of exp and sigmoid multiply the kept local factor by the cotangent in place, so a second walk of a retained graph uses the product."""

    rule, family = "lifetime/retained-works", "lifetime"

    def apply(self, op, operands, attrs):
        if op in _SCRATCH and operands[0].requires_grad and torch.is_grad_enabled():
            return (_SCRATCH[op].apply(operands[0]),)
        return super().apply(op, operands, attrs)


class OnlyTheRootIsFreed(Fault):
    """Freeing marks the root and not the nodes below it: another root over the same freed graph walks it again."""

    rule, family = "lifetime/freed-subgraph-raises", "lifetime"

    @staticmethod
    def _check(roots: Any) -> None:
        for root in roots:
            if root.grad_fn is not None and root.grad_fn.metadata.get("done"):
                raise RuntimeError(FREED)

    @staticmethod
    def _done(roots: Any) -> None:
        for root in roots:
            if root.grad_fn is not None:
                root.grad_fn.metadata["done"] = True

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        self._check(roots)
        super().backward(roots, cotangents, True, create_graph, inputs)
        if not retains(retain_graph, create_graph):
            self._done(roots)

    def grad(self, roots, inputs, cotangents, retain_graph, create_graph, *rest):
        self._check(roots)
        made = super().grad(roots, inputs, cotangents, True, create_graph, *rest)
        if not retains(retain_graph, create_graph):
            self._done(roots)
        return made


# ---------------------------------------------------------------------------------------------------------------------
# writes


class DetachHasItsOwnVersion(Fault):
    """A detached value shares memory but not the version counter, so a write through it to a saved value goes unnoticed."""

    rule, family = "writes/error-or-recorded", "writes"

    def detach(self, value):
        return value.data


class SumsCheckTheirOperands(Fault):
    """The tape checks the versions of all operands, also of sums and differences, whose derivatives need none of them."""

    rule, family = "writes/unsaved-works", "writes"
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


class OverwrittenPartKeepsItsGradient(Fault):
    """Assigning to an index or a slice of a value that has a history does not cut the gradient of what stood there before."""

    rule, family = "writes/recorded", "writes"

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


# ---------------------------------------------------------------------------------------------------------------------
# views


class LastPieceIsACopy(Fault):
    """The last piece that splitting gives is a copy, where all others are views."""

    rule, family = "views/shares", "views"

    def apply(self, op, operands, attrs):
        made = super().apply(op, operands, attrs)
        if op in ("split", "chunk", "tensor_split", "unstack") and len(made) > 1:
            return (*made[:-1], made[-1].clone())
        return made


class WriteToViewOfView(Fault):
    """A recorded write to a view of a view changes the memory but reaches no history, neither its own nor its base's."""

    rule, family = "views/history", "views"

    def apply(self, op, operands, attrs):
        made = super().apply(op, operands, attrs)
        for r in made:
            if r._is_view() and operands and operands[0]._is_view() and r._base is operands[0]._base:
                r.view_of_view = True
        return made

    def write(self, op, target, operands, attrs):
        if getattr(target, "view_of_view", False) and target._is_view():
            base = target._base
            if torch.is_grad_enabled() and not (base.is_leaf and base.requires_grad):
                with torch.no_grad():
                    return super().write(op, target, operands, attrs)
        return super().write(op, target, operands, attrs)


# ---------------------------------------------------------------------------------------------------------------------
# modes


class ModeStaysAfterError(Fault):
    """A grad mode block that an exception leaves does not restore the mode that was before it."""

    rule, family = "modes/restored", "modes"

    def reset(self):
        torch.set_grad_enabled(True)
        super().reset()

    def saved_tensor_counter(self):
        torch.set_grad_enabled(True)
        return super().saved_tensor_counter()

    @contextmanager
    def mode(self, name: str) -> Iterator[None]:
        before = torch.is_grad_enabled()
        torch.set_grad_enabled(name == "enable_grad")
        yield
        torch.set_grad_enabled(before)  # not in a finally


class UnrecordedWriteCuts(Fault):
    """A write under no_grad to a value that has a history takes the history away from it."""

    rule, family = "modes/unrecorded-write", "modes"

    def write(self, op, target, operands, attrs):
        super().write(op, target, operands, attrs)
        if not torch.is_grad_enabled() and target.grad_fn is not None and not target._is_view():
            target.detach_()


# ---------------------------------------------------------------------------------------------------------------------
# higher


class HeldHistoryIsDropped(Fault):
    """Adding to a gradient that a leaf holds with create_graph keeps only the new contribution's history."""

    rule, family = "higher/differentiable", "higher"

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        if create_graph:
            for leaf in reached(roots, inputs):
                if leaf.grad is not None and leaf.grad.grad_fn is not None:
                    leaf.grad = leaf.grad.detach()
        super().backward(roots, cotangents, retain_graph, create_graph, inputs)


class CreateGraphStaysOn(Fault):
    """create_graph is a flag of the engine that is not reset when a call raises, so the next plain call gives gradients with a history."""

    rule, family = "higher/plain-raises", "higher"

    def reset(self):
        super().reset()
        self.creating = False

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        retain_graph = retains(retain_graph, create_graph)
        self.creating = self.creating or create_graph
        super().backward(roots, cotangents, retain_graph, self.creating, inputs)
        self.creating = False

    def grad(self, roots, inputs, cotangents, retain_graph, create_graph, *rest):
        retain_graph = retains(retain_graph, create_graph)
        self.creating = self.creating or create_graph
        made = super().grad(roots, inputs, cotangents, retain_graph, self.creating, *rest)
        self.creating = False
        return made


# ---------------------------------------------------------------------------------------------------------------------
# functional


class HeldGradientsNotPutBack(Fault):
    """The functional form puts the held gradients of its inputs aside while it walks, and does not put them back when it raises."""

    rule, family = "functional/no-accumulation", "functional"

    def grad(self, roots, inputs, *rest):
        aside = [(x, x.grad) for x in {id(x): x for x in inputs}.values() if x.is_leaf and x.requires_grad]
        for x, _ in aside:
            x.grad = None
        made = super().grad(roots, inputs, *rest)
        for x, held in aside:
            x.grad = held
        return made


class InputsCutOneAnother(Fault):
    """The functional form stops at its inputs: an input below another one does not get what comes through that one."""

    rule, family = "functional/value", "functional"

    def grad(self, roots, inputs, *rest):
        kept: dict[int, torch.Tensor] = {}
        hooks = []

        def cut(x: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
            key = id(x)

            def caught(g: torch.Tensor) -> torch.Tensor:
                kept[key] = g
                return torch.zeros_like(g)

            return caught

        for x in {id(x): x for x in inputs}.values():
            if x.grad_fn is None:
                continue
            below = graph([x])
            leaves = {id(n.variable) for n in below if is_leaf_node(n)}
            if any(y is not x and (id(y) in leaves or (y.grad_fn in below and y.grad_fn is not x.grad_fn)) for y in inputs):
                hooks.append(x.register_hook(cut(x)))
        try:
            made = super().grad(roots, inputs, *rest)
        finally:
            for h in hooks:
                h.remove()
        return tuple(kept.get(id(x), g) for x, g in zip(inputs, made, strict=True))


class DuplicateInputGetsZeros(Fault):
    """An input that is listed twice gets its gradient in the first place, and zeros in the others."""

    rule, family = "functional/duplicates", "functional"

    def grad(self, roots, inputs, *rest):
        made = list(super().grad(roots, inputs, *rest))
        for k, x in enumerate(inputs):
            if made[k] is not None and any(x is y for y in inputs[:k]):
                made[k] = torch.zeros_like(made[k])
        return tuple(made)


# ---------------------------------------------------------------------------------------------------------------------
# hooks


class RootSkipsItsHooks(Fault):
    """The seed of a call does not pass by the root's own hooks: only gradients that arrive from an op do."""

    rule, family = "hooks/called", "hooks"

    def reset(self):
        super().reset()
        self.seeded: list[torch.Tensor] = []

    def hook(self, value, function):
        watched, version = ref(value), value._version

        def called(g):
            alive = watched()
            if alive is not None and any(alive is r and r._version == version for r in self.seeded):
                return None
            return function(g)

        return super().hook(value, called)

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        self.seeded = list(roots) if len(roots) == 1 else []
        try:
            super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        finally:
            self.seeded = []

    def grad(self, roots, *rest):
        self.seeded = list(roots) if len(roots) == 1 else []
        try:
            return super().grad(roots, *rest)
        finally:
            self.seeded = []


class HandlesAreIndices(Fault):
    """A hook's handle is its position in the value's list: once an earlier hook is removed, removing a later one misses it."""

    rule, family = "hooks/removed", "hooks"

    def hook(self, value, function):
        hooks = value.__dict__.setdefault("own_hooks", [])
        hooks.append(super().hook(value, function))
        return hooks, len(hooks) - 1

    def remove(self, handle):
        if not isinstance(handle, tuple):
            return super().remove(handle)
        hooks, at = handle
        if at < len(hooks):
            hooks.pop(at).remove()
        return None


class RetainedIsReplaced(Fault):
    """A value that retains its gradient holds what the last call contributed, not the sum over the calls."""

    rule, family = "hooks/retained", "hooks"

    def reset(self):
        super().reset()
        self.retaining: list[Any] = []

    def retain_grad(self, value):
        super().retain_grad(value)
        self.retaining.append(ref(value))

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        nodes = executed(roots, inputs)
        aside = []
        for value in (r() for r in self.retaining):
            if value is not None and value.grad_fn is not None and value.grad_fn in nodes and value.grad is not None:
                aside.append((value, value.grad))
                value.grad = None
        try:
            super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        except BaseException:
            for value, held in aside:
                if value.grad is None:
                    value.grad = held
            raise


# ---------------------------------------------------------------------------------------------------------------------
# detach


class DetachedLeafIsALeafAgain(Fault):
    """Detaching a leaf that requires grad gives another leaf that requires grad, for the flag is copied with the rest."""

    rule, family = "detach/values", "detach"

    def detach(self, value):
        made = super().detach(value)
        return made.requires_grad_() if value.is_leaf and value.requires_grad else made


class DetachingAViewIsIgnored(Fault):
    """Detaching a view in place does nothing and says nothing."""

    rule, family = "detach/view-raises", "detach"

    def detach_in_place(self, value):
        try:
            super().detach_in_place(value)
        except RuntimeError as error:
            if "Can't detach views in-place" not in str(error):
                raise


# ---------------------------------------------------------------------------------------------------------------------
# errors


class SeedsStayQueued(Fault):
    """A call over several roots that is refused because of a later one leaves the earlier ones in the queue of the next call."""

    rule, family = "errors/recovers", "errors"

    def reset(self):
        super().reset()
        self.queue: list[tuple[torch.Tensor, np.ndarray | None]] = []

    @staticmethod
    def _bad(root: torch.Tensor, cotangent: np.ndarray | None) -> bool:
        if not root.requires_grad:
            return True
        return root.numel() != 1 if cotangent is None else cotangent.shape != tuple(root.shape)

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        bad = next((k for k, (r, c) in enumerate(zip(roots, cotangents)) if self._bad(r, c)), None)
        if bad is not None:
            own = [(r, None if c is None else c.copy()) for r, c in zip(roots[:bad], cotangents[:bad])]
            try:
                super().backward(roots, cotangents, retain_graph, create_graph, inputs)  # raises
            finally:
                self.queue += own
            return
        queued, self.queue = self.queue, []
        roots = [*(r for r, _ in queued), *roots]
        cotangents = [*(c for _, c in queued), *cotangents]
        super().backward(roots, cotangents, retain_graph, create_graph, inputs)


class AddsAsItGoes(Fault):
    """Each contribution is added to its leaf as it arrives, so a call that fails on a freed graph leaves a part of the sum in a leaf of several uses."""

    rule, family = "errors/atomic", "errors"

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        if inputs is not None or create_graph:
            return super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        uses: dict[int, int] = {}
        came: dict[int, list[torch.Tensor]] = {}
        leaves: dict[int, torch.Tensor] = {}
        hooks = []

        def noted(places: list[tuple[int, torch.Tensor]]) -> Callable[..., None]:
            def note(gradients, _):
                for k, leaf in places:
                    if gradients[k] is not None:
                        came.setdefault(id(leaf), []).append(gradients[k].detach().sum_to_size(leaf.shape).clone())

            return note

        for n in graph(roots):
            places = [(k, m.variable) for k, (m, _) in enumerate(n.next_functions) if m is not None and is_leaf_node(m)]
            for _, leaf in places:
                uses[id(leaf)] = uses.get(id(leaf), 0) + 1
                leaves[id(leaf)] = leaf
            if places:
                hooks.append(n.register_hook(noted(places)))
        try:
            return super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        except RuntimeError as error:
            if "Trying to backward through the graph a second time" in str(error):
                for key, parts in came.items():
                    leaf = leaves[key]
                    if len(parts) < uses[key] and leaf.requires_grad:
                        total = sum(parts[1:], parts[0])
                        leaf.grad = total if leaf.grad is None else leaf.grad + total
            raise
        finally:
            for h in hooks:
                h.remove()


# ---------------------------------------------------------------------------------------------------------------------
# memory: the same fault in the adapter that counts saved tensors


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
    """The registry of hooks holds the values that were hooked, so that their graphs stay when the last reference goes."""

    rule, family = "memory/dropped", "memory"

    def saved_tensor_counter(self):
        return _HooksHoldValuesCounted(str(self.device))


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
    """A call that retains the graph records itself as if it created one, and keeps that record until the next call."""

    rule, family = "memory/retained", "memory"

    def saved_tensor_counter(self):
        return _RetainedRecordsCounted(str(self.device))


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
    """Clearing to none puts the gradient into a pool for reuse without cutting its history, so what create_graph recorded is never let go of."""

    rule, family = "memory/cycle", "memory"

    def saved_tensor_counter(self):
        return _PooledCounted(str(self.device))


# ---------------------------------------------------------------------------------------------------------------------
# optimizers


class OneStepCountForAll(Fault):
    """Adam corrects its averages by the number of the optimizer's steps, not by how many steps moved the leaf."""

    rule, family = "optimizers/remembers", "optimizers"

    def reset(self):
        super().reset()
        self.steps: dict[int, int] = {}

    def step(self, leaves, optimizer, settings, groups=()):
        made = self.optimizer(leaves, optimizer, settings, groups)
        before = self.steps.get(id(made), 0)
        if optimizer in ("adam", "adamw"):
            for group in made.param_groups:
                for p in group["params"]:
                    state = made.state[p] if p in made.state else {}
                    if p.grad is None or (not state and before == 0):
                        continue
                    if not state:
                        state = made.state[p]
                        state["exp_avg"] = torch.zeros_like(p)
                        state["exp_avg_sq"] = torch.zeros_like(p)
                        if group["amsgrad"]:
                            state["max_exp_avg_sq"] = torch.zeros_like(p)
                        where = p.device if group.get("fused") or group.get("capturable") else "cpu"
                        state["step"] = torch.tensor(0.0, dtype=torch.float32, device=where)
                    state["step"].fill_(float(before))
        super().step(leaves, optimizer, settings, groups)
        self.steps[id(made)] = before + 1


class ZeroIsNoSetting(Fault):
    """A parameter group's own setting is taken by `or`: where it is zero or false, the default of the optimizer counts."""

    rule, family = "optimizers/groups", "optimizers"

    def optimizer(self, leaves, optimizer, settings, groups=()):
        cut = tuple((count, tuple((k, v) for k, v in own if v)) for count, own in groups)
        return super().optimizer(leaves, optimizer, settings, cut)


# ---------------------------------------------------------------------------------------------------------------------
# training


class BroadcastLeafStartsAnew(Fault):
    """The gradient of a leaf that was broadcast is reduced straight into the leaf's gradient, over what earlier calls had put there."""

    rule, family = "training/micro-batches", "training"
    NAMES = ("AddBackward0", "SubBackward0", "MulBackward0", "DivBackward0")

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        nodes, wide, uses = graph(roots), [], {}
        wanted = {id(v) for v in reached(roots, inputs)}
        for n in nodes:
            for m, _ in n.next_functions:
                if m is not None and is_leaf_node(m):
                    v = m.variable
                    uses[id(v)] = uses.get(id(v), 0) + 1
                    if n.name() in self.NAMES and tuple(n._input_metadata[0].shape) != tuple(v.shape) and v.numel():
                        wide.append(v)
        aside = []
        for v in wide:
            if uses[id(v)] == 1 and id(v) in wanted and v.requires_grad and v.grad is not None:
                aside.append((v, v.grad))
                v.grad = None
        try:
            super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        finally:
            for v, held in aside:
                if v.grad is None:
                    v.grad = held


class PackedWeightIsStale(Fault):
    """The derivative of a product for its input takes the weight from a packed copy that is made at the weight's first use and kept over its updates."""

    rule, family = "training/loop", "training"

    def reset(self):
        super().reset()
        self.packed: dict[int, tuple[Any, torch.Tensor]] = {}

    def apply(self, op, operands, attrs):
        made = super().apply(op, operands, attrs)
        if op not in ("linear", "linear_bias", "matmul", "mm") or made[0].grad_fn is None:
            return made
        x, w = operands[:2]
        slot = {"MmBackward0": 0, "AddmmBackward0": 1}.get(made[0].grad_fn.name())
        if slot is None or not (w.is_leaf and w.requires_grad and x.requires_grad and x.dim() == w.dim() == 2):
            return made
        known = self.packed.get(id(w))
        if known is None or known[0]() is not w:
            known = self.packed[id(w)] = (ref(w), w.detach().clone())
        packed, across = known[1], op in ("linear", "linear_bias")

        def from_packed(gradients, outgoing):
            if gradients[slot] is None or outgoing[0] is None:
                return None
            now = packed + (w - w.detach())
            g = outgoing[0] @ (now if across else now.T)
            return tuple(g if k == slot else old for k, old in enumerate(gradients))

        made[0].grad_fn.register_hook(from_packed)
        return made


# ---------------------------------------------------------------------------------------------------------------------
# relations


class VisitedMarksStay(Fault):
    """A walk that retains the graph leaves its visited marks, so a walk from another root stops at what the two share."""

    rule, family = "relations/sum", "relations"

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        tops = [r.grad_fn for r in roots if r.grad_fn is not None]
        token = tuple(sorted(n._sequence_nr() for n in tops))
        nodes = [n for n in executed(roots, inputs) if not is_leaf_node(n)]
        hooks = []
        for n in nodes:
            mark = n.metadata.get("visited")
            if mark is not None and mark != token and n not in tops:
                hooks.append(n.register_prehook(zeros_for))
        try:
            super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        finally:
            for h in hooks:
                h.remove()
        if retain_graph and not create_graph:
            for n in nodes:
                n.metadata.setdefault("visited", token)


class _Relu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, workspaces):
        y = torch.relu(x)
        ctx.key, ctx.workspaces = (tuple(x.shape), x.dtype), workspaces
        workspaces[ctx.key] = (y > 0).to(y.dtype)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        _ = ctx.saved_tensors  # freed or written: raises as it should
        return g * ctx.workspaces[ctx.key], None


class MaskInAWorkspace(Fault):
    """relu keeps its mask in a workspace for each shape, which the next relu of that shape overwrites before the first one's derivative has read it."""

    rule, family = "relations/interleaved", "relations"

    def reset(self):
        super().reset()
        self.workspaces: dict[Any, torch.Tensor] = {}

    def apply(self, op, operands, attrs):
        if op == "relu" and operands[0].requires_grad and torch.is_grad_enabled():
            return (_Relu.apply(operands[0], self.workspaces),)
        return super().apply(op, operands, attrs)


# ---------------------------------------------------------------------------------------------------------------------
# recurrent


class FreedStateIsAConstant(Fault):
    """A walk that comes into a part that was freed stops there in silence, as if the state carried over had been detached."""

    rule, family = "recurrent/carried-state", "recurrent"

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        tops = [r.grad_fn for r in roots if r.grad_fn is not None]
        nodes = [n for n in executed(roots, inputs) if not is_leaf_node(n)]
        if any(n.metadata.get("root_freed") for n in tops):
            raise RuntimeError(FREED)
        cut = [n for n in nodes if n.metadata.get("freed") and saved_by(n)]
        hooks = [n.register_prehook(zeros_for) for n in cut]
        try:
            super().backward(roots, cotangents, True, create_graph, inputs)
        finally:
            for h in hooks:
                h.remove()
        if not retains(retain_graph, create_graph):
            for n in nodes:
                n.metadata["freed"] = True
            for n in tops:
                n.metadata["root_freed"] = True


class ResetGateForgetsTheBias(Fault):
    """The derivative of a GRU for its reset gate leaves out the recurrent bias of the new gate, which the gate multiplies, too."""

    rule, family = "recurrent/gradient", "recurrent"

    def apply(self, op, operands, attrs):
        if op != "gru" or not torch.is_grad_enabled() or not any(x.requires_grad for x in operands):
            return super().apply(op, operands, attrs)
        x, w_in, w_state, b_in, b_state = operands
        size = dict(attrs)["hidden"]
        state = x.new_zeros(x.shape[1], size)
        steps = []
        for at in x.unbind(0):
            r_in, z_in, n_in = (at @ w_in.T + b_in).chunk(3, -1)
            r_st, z_st, n_st = (state @ w_state.T).chunk(3, -1)
            r_b, z_b, n_b = b_state.chunk(3, -1)
            r, z = torch.sigmoid(r_in + r_st + r_b), torch.sigmoid(z_in + z_st + z_b)
            n = torch.tanh(n_in + r * n_st + r.detach() * n_b)
            state = (1 - z) * n + z * state
            steps.append(state)
        return torch.stack(steps), state.unsqueeze(0)


# ---------------------------------------------------------------------------------------------------------------------
# sequences: what earlier programs left, which reset() does not know of


class SeedIsCached(Fault):
    """The seed of a root of one element is cached by shape and dtype for the whole process: an implicit cotangent is the last explicit one."""

    rule, family = "sequences/history", "sequences"

    def __init__(self, device="cpu"):
        super().__init__(device)
        self.seeds: dict[Any, np.ndarray] = {}

    def _seeded(self, roots: Any, cotangents: Any) -> list[Any]:
        made = []
        for r, c in zip(roots, cotangents):
            key = (tuple(r.shape), r.dtype)
            if c is not None and c.size == 1 and c.shape == tuple(r.shape):
                self.seeds[key] = c.copy()
            elif c is None and r.numel() == 1 and key in self.seeds:
                c = self.seeds[key].copy()
            made.append(c)
        return made

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        given = self._seeded(roots, cotangents)
        super().backward(roots, given, retain_graph, create_graph, inputs)

    def grad(self, roots, inputs, cotangents, *rest):
        return super().grad(roots, inputs, self._seeded(roots, cotangents), *rest)


class OptimizerStateSurvives(Fault):
    """What optimizers remember is kept by the kind, the settings and the leaf's place and shape, so a new optimizer goes on from the averages of an old one."""

    rule, family = "sequences/history", "sequences"

    def __init__(self, device="cpu"):
        super().__init__(device)
        self.remembered: dict[Any, dict[str, Any]] = {}

    def step(self, leaves, optimizer, settings, groups=()):
        made = self.optimizer(leaves, optimizer, settings, groups)
        keys = {id(p): (optimizer, settings, groups, k, tuple(p.shape), p.dtype) for k, p in enumerate(leaves)}
        if not made.state:
            for p in leaves:
                old = self.remembered.get(keys[id(p)])
                if old is not None and p.grad is not None:
                    made.state[p] = {k: self._copy(v) for k, v in old.items()}
        super().step(leaves, optimizer, settings, groups)
        for p in leaves:
            if p in made.state:
                self.remembered[keys[id(p)]] = {k: self._copy(v) for k, v in made.state[p].items()}

    @staticmethod
    def _copy(value: Any) -> Any:
        return value.detach().clone() if isinstance(value, torch.Tensor) else value


# ---------------------------------------------------------------------------------------------------------------------
# Witnesses


def A(*data: Any) -> np.ndarray:
    return np.array(data[0] if len(data) == 1 else data, dtype=np.float64)


def ap(adapter: Torch, op: str, *operands: Any, **attrs: Any) -> Any:
    made = adapter.apply(op, list(operands), tuple(attrs.items()))
    return made[0] if len(made) == 1 else made


def held(adapter: Torch, *leaves: Any) -> Any:
    found = [adapter.gradient(x) for x in leaves]
    return [None if g is None else adapter.read(g).tolist() for g in found]


def outcome(adapter: Torch, call: Callable[[], Any]) -> Any:
    try:
        call()
    except Exception as error:  # noqa: BLE001
        return "hook raised" if isinstance(error, HookRaised) else str(adapter.classify(error))
    return "returned"


def back(adapter: Torch, root: Any, retain: bool | None = None, cot: Any = None, **options: Any) -> Any:
    return outcome(adapter, lambda: adapter.backward([root], [None if cot is None else A(cot)], retain, **options))


def total(adapter: Torch, x: Any) -> Any:
    return ap(adapter, "sum", x, dim=None, keepdim=False)


def witness_RootTwiceCountsOnce(a):
    x = a.leaf(A(1.0, 2.0), True)
    y = total(a, ap(a, "multiply", x, x))
    a.backward([y, y], [None, None], None)
    return held(a, x)


def witness_InnerRootLosesItsSeed(a):
    x = a.leaf(A(1.0, 2.0), True)
    y = total(a, ap(a, "multiply", x, x))
    z = ap(a, "multiply_scalar", y, scalar=3.0)
    a.backward([y, z], [None, None], None)
    return held(a, x)


def witness_ZeroingStopsAtNone(a):
    x, y = a.leaf(A(1.0), True), a.leaf(A(2.0), True)
    a.backward([ap(a, "square", y)], [None], None)
    a.zero_grad([x, y], False)
    return held(a, x, y)


def witness_AssignedIsOverwritten(a):
    x, v = a.leaf(A(1.0, 3.0), True), a.leaf(A(10.0, 10.0), False)
    a.assign_grad(x, v)
    a.backward([total(a, ap(a, "square", x))], [None], None)
    return held(a, x)


def witness_SumSharesItsGradient(a):
    x, y = a.leaf(A(1.0, 3.0), True), a.leaf(A(4.0, 3.0), True)
    a.backward([total(a, ap(a, "multiply_scalar", ap(a, "add", x, y), scalar=2.0))], [None], None)
    a.backward([total(a, ap(a, "square", x))], [None], None)
    return held(a, x, y), a.identity(x.grad) == a.identity(y.grad)


def witness_EveryLeafOnTheTape(a):
    x, y = a.leaf(A(1.0), True), a.leaf(A(2.0), True)
    ap(a, "square", y)
    a.backward([ap(a, "square", x)], [None], None)
    return held(a, x, y)


def witness_RetainedForEver(a):
    x = a.leaf(A(1.0, 2.0), True)
    y = total(a, ap(a, "square", x))
    return back(a, y, True), back(a, y), back(a, y), held(a, x)


def witness_LeafSavedOnce(a):
    x = a.leaf(A(1.0, 2.0), True)
    y, z = total(a, ap(a, "square", x)), total(a, ap(a, "sin", x))
    return back(a, y), back(a, z), held(a, x)


def witness_FactorMultipliedInPlace(a):
    x = a.leaf(A(1.0, 2.0), True)
    y = total(a, ap(a, "multiply_scalar", ap(a, "exp", x), scalar=3.0))
    return back(a, y, True), back(a, y), held(a, x)


def witness_OnlyTheRootIsFreed(a):
    x = a.leaf(A(1.0, 2.0), True)
    y = total(a, ap(a, "square", x))
    first = back(a, y)
    return first, back(a, ap(a, "multiply_scalar", y, scalar=2.0)), held(a, x)


def witness_DetachHasItsOwnVersion(a):
    x = a.leaf(A(1.0, 2.0), True)
    y = ap(a, "multiply_scalar", x, scalar=1.5)
    z = total(a, ap(a, "square", y))
    a.write("mul_scalar_", a.detach(y), [], (("scalar", 10.0),))
    return back(a, z), held(a, x)


def witness_SumsCheckTheirOperands(a):
    x = a.leaf(A(1.0, 2.0), True)
    y = ap(a, "multiply_scalar", x, scalar=1.5)
    z = total(a, ap(a, "add", y, y))
    a.write("mul_scalar_", y, [], (("scalar", 10.0),))
    return back(a, z), held(a, x)


def witness_OverwrittenPartKeepsItsGradient(a):
    x, v = a.leaf(A(1.0, 2.0, 3.0), True), a.leaf(A(7.0, 8.0), True)
    y = ap(a, "multiply_scalar", x, scalar=2.0)
    a.write("set_slice_", y, [v], (("start", 0), ("stop", 2), ("step", 1)))
    return back(a, total(a, y)), a.read(y).tolist(), held(a, x, v)


def witness_LastPieceIsACopy(a):
    x = a.leaf(A([1.0, 2.0, 3.0]), False)
    _, last = ap(a, "split", x, sizes=(1, 2), dim=0)
    a.write("mul_scalar_", last, [], (("scalar", 10.0),))
    return a.read(x).tolist(), a.memory(last) == a.memory(x)


def witness_WriteToViewOfView(a):
    x = a.leaf(A([[1.0, 2.0], [3.0, 4.0]]), True)
    y = ap(a, "multiply_scalar", x, scalar=2.0)
    v = ap(a, "select", ap(a, "select", y, dim=0, index=0), dim=0, index=1)
    a.write("mul_scalar_", v, [], (("scalar", 10.0),))
    return back(a, total(a, y)), a.read(y).tolist(), held(a, x)


def witness_ModeStaysAfterError(a):
    x = a.leaf(A(1.0, 2.0), True)
    try:
        with a.mode("no_grad"):
            raise HookRaised
    except HookRaised:
        pass
    seen = a.requires_grad(ap(a, "square", x))
    a.reset()
    return seen


def witness_UnrecordedWriteCuts(a):
    x = a.leaf(A(1.0, 2.0), True)
    y = ap(a, "multiply_scalar", x, scalar=3.0)
    with a.mode("no_grad"):
        a.write("add_scalar_", y, [], (("scalar", 1.0),))
    return a.requires_grad(y), back(a, total(a, y)), held(a, x)


def witness_HeldHistoryIsDropped(a):
    x = a.leaf(A(1.0, 2.0), True)
    for op in ("square", "sin"):
        a.backward([total(a, ap(a, op, x))], [None], None, create_graph=True)
    g = a.gradient(x)
    a.zero_grad([x], True)
    return back(a, total(a, g)), held(a, x)


def witness_CreateGraphStaysOn(a):
    x = a.leaf(A(1.0, 2.0), True)
    y = ap(a, "square", x)
    refused = outcome(a, lambda: a.backward([y], [None], None, create_graph=True))
    a.backward([total(a, y)], [None], None)
    return refused, a.requires_grad(a.gradient(x)), held(a, x)


def witness_HeldGradientsNotPutBack(a):
    x, u = a.leaf(A(1.0, 2.0), True), a.leaf(A(5.0), True)
    a.backward([total(a, ap(a, "square", x))], [None], None)
    y = total(a, ap(a, "sin", x))
    return outcome(a, lambda: a.grad([y], [x, u], [None], None, False, None, False)), held(a, x)


def witness_InputsCutOneAnother(a):
    x = a.leaf(A(1.0, 2.0), True)
    y = ap(a, "square", x)
    z = total(a, ap(a, "multiply", y, x))
    return [a.read(g).tolist() for g in a.grad([z], [x, y], [None], None, False, None, False)]


def witness_DuplicateInputGetsZeros(a):
    x = a.leaf(A(1.0, 2.0), True)
    made = a.grad([total(a, ap(a, "square", x))], [x, x], [None], None, False, None, False)
    return [a.read(g).tolist() for g in made]


def _watched(a, value, calls, name, effect="observe", factor=1.0):
    def called(g):
        calls.append((name, a.read(g).tolist()))
        return None if effect == "observe" else a.altered(g, effect, factor)

    return a.hook(value, called)


def witness_RootSkipsItsHooks(a):
    x, calls = a.leaf(A(1.0, 2.0), True), []
    y = total(a, ap(a, "square", x))
    _watched(a, y, calls, "y", "scale", 3.0)
    return back(a, y), calls, held(a, x)


def witness_HandlesAreIndices(a):
    x, calls = a.leaf(A(1.0, 2.0), True), []
    first, second = (_watched(a, x, calls, k) for k in range(2))
    a.remove(first)
    a.remove(second)
    return back(a, total(a, ap(a, "square", x))), calls


def witness_RetainedIsReplaced(a):
    x = a.leaf(A(1.0, 2.0), True)
    y = ap(a, "square", x)
    a.retain_grad(y)
    z = total(a, y)
    return back(a, z, True), back(a, z), held(a, y)


def witness_DetachedLeafIsALeafAgain(a):
    d = a.detach(a.leaf(A(1.0, 2.0), True))
    return a.requires_grad(d), back(a, total(a, d))


def witness_DetachingAViewIsIgnored(a):
    x = a.leaf(A(1.0, 2.0), True)
    v = ap(a, "slice", ap(a, "square", x), start=0, stop=1, step=1)
    return outcome(a, lambda: a.detach_in_place(v))


def witness_SeedsStayQueued(a):
    x, y = a.leaf(A(1.0, 2.0), True), a.leaf(A(3.0, 4.0), True)
    fx, fy = total(a, ap(a, "square", x)), ap(a, "square", y)
    refused = outcome(a, lambda: a.backward([fx, fy], [None, None], None))
    return refused, back(a, total(a, fy)), held(a, x, y)


def witness_AddsAsItGoes(a):
    x = a.leaf(A(1.0, 2.0), True)
    y = ap(a, "square", x)
    a.backward([total(a, y)], [None], None)
    z = total(a, ap(a, "add", y, ap(a, "sin", x)))
    return back(a, z), held(a, x)


def _counting(a):
    counter = a.saved_tensor_counter()
    counter.reset()
    return counter


def witness_HooksHoldTheirValues(a):
    a = _counting(a)
    x = a.leaf(A(1.0, 2.0), True)
    y = ap(a, "square", x)
    a.hook(y, lambda g: None)
    before = a.saved()
    del y
    return before, a.saved()


def witness_RetainingRecords(a):
    a = _counting(a)
    x = a.leaf(A(1.0, 2.0), True)
    y = total(a, ap(a, "multiply", ap(a, "sin", x), x))
    before = a.saved()
    a.backward([y], [None], True)
    return before, a.saved(), held(a, x)


def witness_ClearedGradientsArePooled(a):
    a = _counting(a)
    x = a.leaf(A(1.0, 2.0), True)
    y = total(a, ap(a, "sin", x))
    a.backward([y], [None], None, create_graph=True)
    a.zero_grad([x], True)
    del y
    return a.saved()


ADAM = (("lr", 0.1),)


def witness_OneStepCountForAll(a):
    x, y = a.leaf(A(1.0, 2.0), True), a.leaf(A(3.0, 4.0), True)
    for loss in (lambda: total(a, ap(a, "square", x)), lambda: total(a, ap(a, "multiply", x, y))):
        a.backward([loss()], [None], None)
        a.step([x, y], "adam", ADAM)
    return a.read(x).tolist(), a.read(y).tolist()


def witness_ZeroIsNoSetting(a):
    x, y = a.leaf(A(1.0, 2.0), True), a.leaf(A(3.0, 4.0), True)
    a.backward([total(a, ap(a, "multiply", x, y))], [None], None)
    settings = (("lr", 0.1), ("weight_decay", 0.5))
    a.step([x, y], "sgd", settings, ((1, ()), (1, (("weight_decay", 0.0),))))
    return a.read(x).tolist(), a.read(y).tolist()


def witness_BroadcastLeafStartsAnew(a):
    w = a.leaf(A([0.5]), True)
    for data in ([1.0, 2.0], [3.0, 4.0]):
        a.backward([total(a, ap(a, "multiply", a.leaf(A(data), False), w))], [None], None)
    return held(a, w)


def witness_PackedWeightIsStale(a):
    x = a.leaf(A([[1.0, 2.0]]), False)
    v, w = a.leaf(A([[1.0, -1.0], [0.5, 2.0]]), True), a.leaf(A([[1.0, 2.0]]), True)
    for _ in range(2):
        a.zero_grad([v, w], True)
        a.backward([total(a, ap(a, "linear", ap(a, "tanh", ap(a, "linear", x, v)), w))], [None], None)
        a.step([v, w], "sgd", (("lr", 0.5),))
    return held(a, v, w), a.read(v).tolist()


def witness_VisitedMarksStay(a):
    x = a.leaf(A(1.0, 2.0), True)
    trunk = ap(a, "square", x)
    one, two = total(a, ap(a, "sin", trunk)), total(a, ap(a, "exp", trunk))
    return back(a, one, True), back(a, two), held(a, x)


def witness_MaskInAWorkspace(a):
    x, y = a.leaf(A(1.0, -2.0), True), a.leaf(A(-3.0, 4.0), True)
    fx = total(a, ap(a, "relu", x))
    fy = total(a, ap(a, "relu", y))
    return back(a, fx), back(a, fy), held(a, x, y)


def witness_FreedStateIsAConstant(a):
    w, state = a.leaf(A(0.5), True), a.leaf(A(1.0), False)
    seen = []
    for _ in range(2):
        state = ap(a, "tanh", ap(a, "multiply", w, state))
        seen.append(back(a, ap(a, "square", state)))
    return seen, held(a, w)


def witness_ResetGateForgetsTheBias(a):
    rng = np.random.default_rng(1)
    shapes = ((2, 1, 2), (6, 2), (6, 2), (6,), (6,))
    given = [a.leaf(np.round(rng.normal(size=s), 2), True) for s in shapes]
    out, _ = ap(a, "gru", *given, hidden=2)
    a.backward([total(a, out)], [None], None)
    return [np.round(g, 9).tolist() for g in map(np.array, held(a, *given))]


def witness_SeedIsCached(a):
    x = a.leaf(A(1.0), True)
    first = back(a, ap(a, "square", x), cot=5.0)
    a.reset()
    y = a.leaf(A(2.0), True)
    return first, back(a, ap(a, "square", y)), held(a, y)


def witness_OptimizerStateSurvives(a):
    for _ in range(2):
        a.reset()
        x = a.leaf(A(1.0, 2.0), True)
        a.backward([total(a, ap(a, "square", x))], [None], None)
        a.step([x], "sgd", (("lr", 0.1), ("momentum", 0.9)))
    return a.read(x).tolist()


def faults() -> list[type[Fault]]:
    """Every fault of this file, in order."""
    found = [v for v in list(globals().values()) if isinstance(v, type) and issubclass(v, Fault) and v is not Fault]
    return list(dict.fromkeys(found))


if __name__ == "__main__":
    alike = 0
    for made_wrong in faults():
        witness = globals()["witness_" + made_wrong.__name__]
        answers = []
        for adapter in (Torch(), made_wrong()):
            adapter.reset()
            answers.append(witness(adapter))
        same = repr(answers[0]) == repr(answers[1])
        alike += same
        told = f"{made_wrong.__name__} [{made_wrong.rule}]"
        print("SAME" if same else "ok  ", told, "torch:", str(answers[0])[:150], "fault:", str(answers[1])[:150])
    print(len(faults()), "faults,", alike, "whose witness agrees")
    raise SystemExit(1 if alike else 0)
