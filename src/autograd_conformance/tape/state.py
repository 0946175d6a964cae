"""The state of the tape model: the recorded graph, and what happened to it so far."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Leaf, Ref, Step
from autograd_conformance.programs.observations import Gradient
from autograd_conformance.reference.computation.reverse import GradientEdge
from autograd_conformance.reference.reference import Reference
from autograd_conformance.tape.traversal import NO_REGIONS, RecordedGraph

EVERYTHING = frozenset(Capability)
"""All capabilities: the claims of a framework that has everything."""


class TapeState(RecordedGraph):
    """The state from which expectations are computed; only `tape.model.Tape` changes it."""

    def __init__(
        self,
        reference: Reference,
        capabilities: Collection[Capability] = EVERYTHING,
        counts: bool = True,
        regions: Mapping[int, tuple[int, ...]] = NO_REGIONS,
    ) -> None:
        super().__init__(reference, regions)
        self.capabilities = frozenset(capabilities)
        """The capabilities that the framework claims."""
        self.frees = Capability.FREES in capabilities
        """Whether the framework claims to free the graph after a backward call that does not retain the graph."""
        self.imperative = Capability.IMPERATIVE in capabilities
        """Whether the framework claims that calls leave gradients in leaves. If not, the functional form is used
        instead.
        """
        self.accumulates = Capability.ACCUMULATES in capabilities
        """Whether the framework claims that calls add to the gradients of leaves. If not, calls replace them."""
        self.counts = counts
        """Whether expectations list the rules that a call puts to the test."""
        self.leaves: dict[Ref, Leaf] = {}
        """The `Leaf` instruction of each leaf."""
        self.detached: dict[Ref, Ref] = {}
        """For each detached value, the value that it was detached from."""
        self.grads: dict[Ref, Gradient | None] = {}
        """The gradient that each value held when it was last observed."""
        self.used: set[Ref] = set()
        """The values used by computations since gradients were last observed; stays empty unless use may clear
        gradients in the framework.
        """
        self.roots: dict[GradientEdge, int] = {}
        """For each gradient edge, the number of the last backward call that had it as a root."""
        self.by_default: set[int] = set()
        """The numbers of the calls that free the graph by default, because `retain_graph` was left out."""
        self.refused: set[GradientEdge] = set()
        """The gradient edges of the roots of calls that the framework refused before they began."""
        self.unrecorded: set[Ref] = set()
        """Values computed by ops under no_grad."""
        self.signatures: dict[GradientEdge, int] = {}
        """For each gradient edge, a number that two edges share if the same ops computed them from the same leaves;
        filled on demand.
        """
        self.kinds: dict[object, int] = {}
        """For each op, with its attributes and the signatures of its operands, the number in `signatures` of its
        result.
        """
        self.failed = False
        """Whether an instruction has raised."""
        self.moved: dict[tuple[Step, Ref], list[bool]] = {}
        """For each optimizer (by its `Step`) and leaf, whether the leaf held a gradient at each
        completed step so far.
        """
        self.actions = 0
        """Counts the instructions so far that were followed by a reading of gradients."""

    def added_to(self, leaf: Ref) -> Gradient | None:
        """Returns the gradient that a call adds to; None if there is none, or if calls replace gradients."""
        return self.grads.get(leaf) if self.accumulates else None

    def holds_initial_gradient(self, leaf: Ref) -> bool:
        """Whether a value holds what it begins with: no gradient, or zeros where the framework begins with zeros."""
        held = self.added_to(leaf)
        return held is None or (self.reference.traits.begins_with_zeros and not held.value.any())

    def holds_any(self, leaves: Iterable[Ref]) -> bool:
        """Whether any of the leaves holds a gradient."""
        return any(self.grads.get(leaf) is not None for leaf in leaves)
