"""Computes what a backward call contributes to each gradient edge, and the gradients with which the call invokes
hooks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from autograd_conformance.programs.capabilities import Traits
from autograd_conformance.programs.language import BackwardCall, Ref
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.computation.hooks import HookCalls, Hooks
from autograd_conformance.reference.computation.reverse import GradientEdge, pull
from autograd_conformance.reference.computation.tape import ReferenceTape
from autograd_conformance.reference.staging.derivatives import Array


@dataclass(slots=True, eq=False)
class Pullbacks:
    """Computes gradients by reverse accumulation over the tape, with hooks.

    Results are cached: code that changes hooks, flags or histories has to call `forget`.
    """

    tape: ReferenceTape
    hooks: Hooks
    traits: Traits
    _cached: dict[object, tuple[dict[GradientEdge, Array], HookCalls]] = field(default_factory=dict)

    def of(self, call: BackwardCall) -> Mapping[GradientEdge, Array]:
        """Returns the contribution of a call to every edge on which its roots depend, including edges of non-leaf
        values.
        """
        return self._pulled(call)[0]

    def hook_calls(self, call: BackwardCall) -> HookCalls:
        """Returns the hooks that a call invokes, with the gradients that they receive, in the order of reverse
        accumulation.
        """
        return self._pulled(call)[1]

    def is_zero(self, call: BackwardCall, ref: Ref) -> bool:
        """Whether a call contributes nothing or zeros to a value, with its hooks or without them. A framework may leave
        such a gradient undefined, and not call hooks with it.
        """
        pulled = [self.of(call)]
        if self.hooks.on:
            pulled.append(self._pulled(call, hooked=False)[0])
        edge = self.tape.edge(ref)
        return any(edge not in contributed or not contributed[edge].any() for contributed in pulled)

    def is_legal(self, call: BackwardCall) -> bool:
        """Whether a call can be computed: its roots require grad and have cotangents of the right shapes, or may have
        none. Frameworks raise an error for all other calls.
        """
        tape, pairs = self.tape, zip(call.roots, call.cotangents, strict=True)
        return all(
            tape.requires_grad[r]
            and (self.traits.implies(tape.values[r].shape) if c is None else c.shape == tape.values[r].shape)
            for r, c in pairs
        )

    def depends(self, gradient: Ref) -> bool:
        """Whether the differentiable gradient `gradient` depends on any leaf."""
        return any(edge not in self.tape.producer for edge in self.dependencies([self.tape.edge(gradient)]))

    def dependencies(self, edges: Iterable[GradientEdge]) -> frozenset[GradientEdge]:
        """Returns the edges on which some edges depend: those by which their derivative is not zero, if the cotangents
        have no special form. A sum of derivatives may be zero where each is not.
        """
        values = self.tape.values
        roots = [(edge, np.sqrt(np.arange(2.0, 2.0 + values[edge].size)).reshape(values[edge].shape)) for edge in edges]
        reached = pull(self.tape.entries, values, roots)
        return frozenset(edge for edge, contributed in reached.items() if contributed.any())

    def forget(self) -> None:
        """Clears the cached results, because hooks, flags or histories changed."""
        self._cached.clear()

    def _pulled(self, call: BackwardCall, hooked: bool = True) -> tuple[dict[GradientEdge, Array], HookCalls]:
        tape = self.tape
        key = (tuple([tape.edge(r) for r in call.roots]), call.cotangents, hooked)
        if key not in self._cached:
            calls: HookCalls = []
            functions = self.hooks.functions(calls) if hooked else {}
            self._cached[key] = (pull(tape.entries, tape.values, tape.roots(call), hooked=functions), calls)
        return self._cached[key]
