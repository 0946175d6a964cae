"""The hooks on gradient edges in the reference, with their handles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from autograd_conformance.programs.language import Hook, Ref
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.computation.reverse import GradientEdge, Hooked
from autograd_conformance.reference.staging.derivatives import Array

HookCalls = list[tuple[Ref, Array]]
"""Calls of hooks in their order: the handle of each hook, and the gradient that the hook receives."""


@dataclass(slots=True, eq=False)
class Hooks:
    """The hooks on each edge, oldest first, each with its handle; a handle is on one edge only."""

    on: dict[GradientEdge, list[tuple[Ref, Hook]]] = field(default_factory=dict)
    """For each edge, the hooks that receive the edge's complete gradient and may change it."""
    accumulated: dict[GradientEdge, list[tuple[Ref, Hook]]] = field(default_factory=dict)
    """For each edge of a leaf, the hooks that are called after the leaf's gradient was accumulated."""

    def add(self, edge: GradientEdge, handle: Ref, hook: Hook) -> None:
        """Adds a hook to an edge, after the edge's existing hooks."""
        hooks = self.accumulated if hook.accumulated else self.on
        hooks.setdefault(edge, []).append((handle, hook))

    def remove(self, handle: Ref) -> None:
        """Removes the hook with this handle."""
        for on_edge in (*self.on.values(), *self.accumulated.values()):
            on_edge[:] = [entry for entry in on_edge if entry[0] != handle]

    def functions(self, calls: HookCalls | None = None) -> Hooked:
        """Returns the hooks in `on` as functions of a cotangent, by edge; each call of such a function is appended to
        `calls`.
        """
        into = [] if calls is None else calls
        return {edge: [_function(handle, hook, into) for handle, hook in on] for edge, on in self.on.items()}


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
