"""What a backward call contributes to each gradient edge, and what it calls hooks with."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from autograd_conformance.programs.language import Backward, BackwardCall, Hook, Literal, Ref
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.computation.reverse import GradientEdge, Hooked, pull
from autograd_conformance.reference.computation.state import State
from autograd_conformance.reference.computation.value_types import InternalValue
from autograd_conformance.reference.staging.derivatives import Array, array

HookCalls = list[tuple[Ref, Array]]
"""The handles of hooks, with the gradients that they are called with, in the order of the calls."""


class Pullback(State):
    """Reverse accumulation over the tape, with hooks; what was computed for a call is kept until a hook changes."""

    def __init__(self) -> None:
        super().__init__()
        self.hooks: dict[GradientEdge, list[tuple[Ref, Hook]]] = {}
        """The hooks on each edge, with their handles, oldest first."""
        self.accumulated_hooks: dict[GradientEdge, list[tuple[Ref, Hook]]] = {}
        """The same for the hooks that are called after a leaf's gradient was accumulated."""
        self.ended: dict[GradientEdge, int] = {}
        """The edges that lay in graphs that calls ended, each with the last of these calls."""
        self.before_end: dict[GradientEdge, GradientEdge] = {}
        """For the edge that a value has since such a call, the one that it had before."""
        self._pullbacks: dict[object, tuple[dict[GradientEdge, Array], HookCalls]] = {}

    def roots(self, call: BackwardCall) -> list[tuple[GradientEdge, Array]]:
        """The edges of a call's roots, each with its cotangent."""
        return [
            (self.edge(root), np.ones_like(self.values[root]) if given is None else array(given))
            for root, given in zip(call.roots, call.cotangents, strict=True)
            if self.requires_grad[root]
        ]

    def pullback(self, call: BackwardCall) -> Mapping[GradientEdge, Array]:
        """What a call contributes to every edge that its roots depend on, leaves' and others'."""
        return self._pulled(call)[0]

    def hook_calls(self, call: BackwardCall) -> HookCalls:
        """The hooks that a call calls, with the gradients that it calls them with, in reverse accumulation's order."""
        return self._pulled(call)[1]

    def is_zero(self, call: BackwardCall, ref: Ref) -> bool:
        """Whether a call contributes nothing to a value, or zeros, with its hooks or without: a framework may leave
        such a gradient undefined, and calls no hook with it.
        """
        pulled = [self.pullback(call)]
        if self.hooks:
            pulled.append(self._pulled(call, hooked=False)[0])
        edge = self.edge(ref)
        return any(edge not in due or not due[edge].any() for due in pulled)

    def _pulled(self, call: BackwardCall, hooked: bool = True) -> tuple[dict[GradientEdge, Array], HookCalls]:
        key = (tuple([self.edge(r) for r in call.roots]), call.cotangents, hooked)
        if key not in self._pullbacks:
            calls: HookCalls = []
            functions = self.hooked(calls) if hooked else {}
            self._pullbacks[key] = (pull(self.entries, self.values, self.roots(call), hooked=functions), calls)
        return self._pullbacks[key]

    def hooked(self, calls: HookCalls | None = None) -> Hooked:
        """The functions that hooks are, for each edge; each of their calls is appended to `calls`."""
        into = [] if calls is None else calls
        return {edge: [_function(handle, hook, into) for handle, hook in on] for edge, on in self.hooks.items()}

    def add_hook(self, handle: Ref, hook: Hook) -> None:
        """Put a hook on its target's edge, after those that are there."""
        hooks = self.accumulated_hooks if hook.accumulated else self.hooks
        hooks.setdefault(self.edge(hook.target), []).append((handle, hook))
        self._pullbacks.clear()

    def remove_hook(self, handle: Ref) -> None:
        """Take a hook away."""
        for on_edge in (*self.hooks.values(), *self.accumulated_hooks.values()):
            on_edge[:] = [entry for entry in on_edge if entry[0] != handle]
        self._pullbacks.clear()

    def _end(self, at: int, call: BackwardCall) -> None:
        """A call ends the graph that it went through: its values are without a history from here on."""
        passed = set(self.pullback(call))
        self.ended.update(dict.fromkeys(passed, at))
        made = passed.intersection(self.producer)
        for ref in [r for r in self.requires_grad if not isinstance(r, InternalValue) and self.edge(r) in made]:
            leaf = self.constant(at, self.values[ref])
            self.requires_grad[leaf], self.before_end[leaf] = True, self.edge(ref)
            self.edges[ref] = leaf
        self._pullbacks.clear()

    def depends(self, gradient: Ref) -> bool:
        """Whether a gradient that has a history depends on a leaf at all, as far as its own derivative shows."""
        ones = Literal((1.0,) * self.values[gradient].size, self.values[gradient].shape)
        reached = pull(self.entries, self.values, self.roots(Backward((gradient,), (ones,))))
        return any(value.any() for ref, value in reached.items() if ref not in self.producer)


def _function(handle: Ref, hook: Hook, calls: HookCalls) -> Callable[[Array], Array]:
    def called(cotangent: Array) -> Array:
        calls.append((handle, cotangent))
        match hook.effect:
            case "scale":
                return cotangent * hook.factor
            case "replace":
                return np.full_like(cotangent, hook.factor)
        return cotangent

    return called
