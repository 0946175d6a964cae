"""What the model of the tape remembers of a program: the recorded graph, and what became of it so far."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Leaf, Ref, Step
from autograd_conformance.programs.observations import Gradient
from autograd_conformance.reference.computation.reverse import GradientEdge
from autograd_conformance.reference.reference import Reference
from autograd_conformance.tape.traversal import NO_REGIONS, RecordedGraph

EVERYTHING = frozenset(Capability)
"""The claims of a framework that has all there is."""


class TapeState(RecordedGraph):
    """The state that expectations are told from; `tape.model.Tape` alone changes it."""

    def __init__(
        self,
        reference: Reference,
        capabilities: Collection[Capability] = EVERYTHING,
        counts: bool = True,
        regions: Mapping[int, tuple[int, ...]] = NO_REGIONS,
    ) -> None:
        super().__init__(reference, regions)
        self.capabilities = frozenset(capabilities)
        """What the framework claims."""
        self.frees = Capability.FREES in capabilities
        """Whether the framework claims to free graphs."""
        self.imperative = Capability.IMPERATIVE in capabilities
        """Whether it claims that calls leave gradients in leaves: else the functional form stands for them."""
        self.accumulates = Capability.ACCUMULATES in capabilities
        """Whether it claims that calls add to what leaves hold; they replace it otherwise."""
        self.counts = counts
        """Whether it is to be told which rules a call exercises."""
        self.leaves: dict[Ref, Leaf] = {}
        """The leaves, with their literals."""
        self.detached: dict[Ref, Ref] = {}
        """Each detached value's source."""
        self.grads: dict[Ref, Gradient | None] = {}
        """The gradient that each value was last seen to hold."""
        self.used: set[Ref] = set()
        """The values that computations took since, where that may clear what they hold."""
        self.roots: dict[GradientEdge, int] = {}
        """The last call that began at each edge."""
        self.by_default: set[int] = set()
        """Calls that were not told whether to retain the graph."""
        self.refused: set[GradientEdge] = set()
        """The roots of calls that were refused before they began."""
        self.unrecorded: set[Ref] = set()
        """Values computed under no_grad."""
        self.signatures: dict[GradientEdge, int] = {}
        """A number for each edge that two edges share if they were computed alike, as far as they were asked for."""
        self.kinds: dict[object, int] = {}
        """The number of each way to compute a value."""
        self.failed = False
        """Whether an instruction has raised."""
        self.moved: dict[tuple[Step, Ref], list[bool]] = {}
        """For each optimizer and leaf, whether the leaf held a gradient at each step so far."""
        self.actions = 0
        """How many instructions were followed by a look at the gradients."""

    def added_to(self, leaf: Ref) -> Gradient | None:
        """The gradient that a call adds to; none where calls replace what is held."""
        return self.grads.get(leaf) if self.accumulates else None

    def holds_initial_gradient(self, leaf: Ref) -> bool:
        """Whether a call adds to what a value begins with: none, or zeros where the framework begins with them."""
        held = self.added_to(leaf)
        return held is None or (self.reference.begins_with_zeros and not held.value.any())

    def holds_any(self, leaves: Iterable[Ref]) -> bool:
        """Whether one of some leaves holds a gradient."""
        return any(self.grads.get(leaf) is not None for leaf in leaves)
