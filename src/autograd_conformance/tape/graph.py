"""The recorded graph as the tape model sees it: nodes, what a call goes through, what is expected of an instruction.

`must_` is what is so in every implementation that keeps the rules, `may_` what is an implementation's choice, besides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from autograd_conformance.ops.rows.row import Certainty
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.language import Ref
from autograd_conformance.programs.observations import Kind
from autograd_conformance.reference.computation.reverse import GradientEdge, TapeEntry
from autograd_conformance.reference.staging.vjp import RecordedOp, Vjp


@dataclass(slots=True, eq=False)
class Node:
    """A recorded op, and what became of it."""

    entry: TapeEntry
    """What the reference recorded."""
    saves: Certainty
    """Whether its derivative needs saved tensors."""
    freed: Certainty = Certainty.NEVER
    """Whether a call has freed what it saved."""
    freed_by: int | None = None
    """The call that did, or may have."""
    traversals: int = 0
    """How many calls went through it."""
    was_retained: bool = False
    """Whether one of them retained the graph."""

    @property
    def at(self) -> int:
        """The instruction that recorded it."""
        return self.entry.at

    @property
    def op(self) -> RecordedOp:
        """The op."""
        return self.entry.op

    @property
    def args(self) -> tuple[GradientEdge, ...]:
        """The gradient edges of its operands."""
        return self.entry.args

    @property
    def derivative(self) -> bool:
        """Whether a call with create_graph recorded it as the derivative of another op."""
        return isinstance(self.entry.op, Vjp)

    @property
    def must_be_freed(self) -> bool:
        """Whether what its derivative needs is always freed: a call that goes through it must raise."""
        return self.freed is Certainty.ALWAYS and self.saves is Certainty.ALWAYS

    def free(self, certainty: Certainty, at: int) -> None:
        """Call `at` frees what it saved."""
        self.freed, self.freed_by = certainty, at


@dataclass(frozen=True, slots=True)
class Traversal:
    """What a call goes through: its nodes, newest first, and the gradient edges that it reaches."""

    nodes: tuple[Node, ...] = ()
    """The nodes that it always goes through."""
    leaves: frozenset[Ref] = frozenset()
    """The leaves whose gradients it adds to."""
    uses: Mapping[GradientEdge, int] = field(default_factory=dict)
    """How many operands of nodes each edge is."""
    maybe_nodes: tuple[Node, ...] = ()
    """The nodes that it may go through: those behind the operands of a derivative, which matter only where the
    derivative depends on them."""
    must_accumulate: frozenset[Ref] = frozenset()
    """The values whose gradients it adds to."""
    may_accumulate: frozenset[Ref] = frozenset()
    """The values whose gradients it may add to."""
    must_reach: frozenset[GradientEdge] = frozenset()
    """The edges that get a cotangent."""
    must_fire: frozenset[GradientEdge] = frozenset()
    """The edges whose hooks it calls."""
    may_fire: frozenset[GradientEdge] = frozenset()
    """The edges whose hooks it may call."""
    may_reach: frozenset[GradientEdge] = frozenset()
    """The edges that a derivative may have been computed from, or not: what flows to them is unspecified."""
    partial_nodes: tuple[Node, ...] = ()
    """The nodes of which not every operand leads to an input of the call: it may go through a part of them only."""

    @property
    def all_nodes(self) -> tuple[Node, ...]:
        """The nodes that it always goes through, then those that it may go through."""
        return (*self.nodes, *self.maybe_nodes)

    @property
    def alone(self) -> bool:
        """Whether the call goes through a single op and nothing else."""
        return len(self.nodes) == 1 and not self.maybe_nodes and self.nodes[0].op in OPS


@dataclass(frozen=True, slots=True)
class Expectation:
    """What may happen at one instruction."""

    returns: str | None = "errors/legal-returns"
    """The rule by which it returns; None where it must not."""
    raises: Mapping[Kind, str] = field(default_factory=dict)
    """The kinds of error that it may raise, each with its rule."""
    exercises: tuple[str, ...] = ()
    """The rules whose situation it brings about."""
    traversal: Traversal = Traversal()
    """What it goes through, if it is a backward call."""
    unspecified: bool = False
    """Whether the rules leave open what a return means: then nothing is judged from here on."""
