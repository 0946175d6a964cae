"""The contributions of a backward call to each gradient edge, and the gradients with which it calls hooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from autograd_conformance.programs.language import Backward, BackwardCall, Hook, Literal, Ref
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.computation.reverse import GradientEdge, Hooked, pull
from autograd_conformance.reference.computation.state import State
from autograd_conformance.reference.computation.value_types import InternalValue
from autograd_conformance.reference.staging.derivatives import Array, array

HookCalls = list[tuple[Ref, Array]]
"""The handles of hooks with the gradients that they receive, in the order of the calls."""


class Pullback(State):
    """Reverse accumulation over the tape, with hooks. Results are cached until the hooks change."""

    def __init__(self) -> None:
        super().__init__()
        self.hooks: dict[GradientEdge, list[tuple[Ref, Hook]]] = {}
        """The hooks on each edge, with their handles, oldest first."""
        self.accumulated_hooks: dict[GradientEdge, list[tuple[Ref, Hook]]] = {}
        """The hooks on each edge that are called after a leaf's gradient was accumulated."""
        self.ended: dict[GradientEdge, int] = {}
        """The edges of graphs that calls ended, each with the last of these calls."""
        self.before_end: dict[GradientEdge, GradientEdge] = {}
        """For each edge that a value got when a call ended its graph, the edge that the value had before."""
        self._pullbacks: dict[object, tuple[dict[GradientEdge, Array], HookCalls]] = {}

    def roots(self, call: BackwardCall) -> list[tuple[GradientEdge, Array]]:
        """The edges of a call's roots, each with its cotangent."""
        return [
            (self.edge(root), np.ones_like(self.values[root]) if given is None else array(given))
            for root, given in zip(call.roots, call.cotangents, strict=True)
            if self.requires_grad[root]
        ]

    def pullback(self, call: BackwardCall) -> Mapping[GradientEdge, Array]:
        """The contribution of a call to every edge on which its roots depend, including edges of values that are no
        leaves.
        """
        return self._pulled(call)[0]

    def hook_calls(self, call: BackwardCall) -> HookCalls:
        """The hooks that a call calls, with the gradients that they receive, in the order of reverse accumulation."""
        return self._pulled(call)[1]

    def is_zero(self, call: BackwardCall, ref: Ref) -> bool:
        """Whether a call contributes nothing or zeros to a value, with its hooks or without them. A framework may leave
        such a gradient undefined, and not call hooks with it.
        """
        pulled = [self.pullback(call)]
        if self.hooks:
            pulled.append(self._pulled(call, hooked=False)[0])
        edge = self.edge(ref)
        return any(edge not in contributed or not contributed[edge].any() for contributed in pulled)

    def _pulled(self, call: BackwardCall, hooked: bool = True) -> tuple[dict[GradientEdge, Array], HookCalls]:
        key = (tuple([self.edge(r) for r in call.roots]), call.cotangents, hooked)
        if key not in self._pullbacks:
            calls: HookCalls = []
            functions = self.hooked(calls) if hooked else {}
            self._pullbacks[key] = (pull(self.entries, self.values, self.roots(call), hooked=functions), calls)
        return self._pullbacks[key]

    def hooked(self, calls: HookCalls | None = None) -> Hooked:
        """The hooks of each edge as functions; each call of one is appended to `calls`."""
        into = [] if calls is None else calls
        return {edge: [_function(handle, hook, into) for handle, hook in on] for edge, on in self.hooks.items()}

    def add_hook(self, handle: Ref, hook: Hook) -> None:
        """Add a hook to its target's edge, after the existing ones."""
        hooks = self.accumulated_hooks if hook.accumulated else self.hooks
        hooks.setdefault(self.edge(hook.target), []).append((handle, hook))
        self._pullbacks.clear()

    def remove_hook(self, handle: Ref) -> None:
        """Remove a hook."""
        for on_edge in (*self.hooks.values(), *self.accumulated_hooks.values()):
            on_edge[:] = [entry for entry in on_edge if entry[0] != handle]
        self._pullbacks.clear()

    def _end(self, at: int, call: BackwardCall) -> None:
        """End the graph that a call differentiated: its values have no history from then on."""
        passed = set(self.pullback(call))
        self.ended.update(dict.fromkeys(passed, at))
        made = passed.intersection(self.producer)
        for ref in [r for r in self.requires_grad if not isinstance(r, InternalValue) and self.edge(r) in made]:
            leaf = self.constant(at, self.values[ref])
            self.requires_grad[leaf], self.before_end[leaf] = True, self.edge(ref)
            self.edges[ref] = leaf
        self._pullbacks.clear()

    def depends(self, gradient: Ref) -> bool:
        """Whether a gradient with a history depends on any leaf, according to its own derivative."""
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
