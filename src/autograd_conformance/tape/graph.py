"""The recorded graph in the tape model: nodes, the traversal of a call, and the expectation for an instruction.

`must_` marks what is true in every implementation that follows the rules; `may_` marks what an implementation may do in
addition.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from autograd_conformance.ops.rows.row import Certainty
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs import slugs
from autograd_conformance.programs.language import Ref
from autograd_conformance.programs.observations import Kind
from autograd_conformance.programs.slugs import Slug
from autograd_conformance.reference.computation.reverse import GradientEdge, TapeEntry
from autograd_conformance.reference.staging.vjp import RecordedOp, Vjp


@dataclass(slots=True, eq=False)
class Node:
    """A recorded op, and what happened to it since."""

    entry: TapeEntry
    """The op's entry on the tape of the suite's own reference computation."""
    saves: Certainty
    """How certainly the op's derivative needs saved tensors."""
    freed: Certainty = Certainty.NEVER
    """How certainly a call has freed the op's saved tensors."""
    freed_by: int | None = None
    """The number of the call that freed the op's saved tensors, or may have."""
    traversals: int = 0
    """Number of calls that certainly went through the node, including those that raised on the way."""
    was_retained: bool = False
    """Whether a call that went through the node retained the graph."""

    @property
    def at(self) -> int:
        """The number of the instruction that recorded the node."""
        return self.entry.at

    @property
    def op(self) -> RecordedOp:
        """The recorded op: one of the catalogue, a derivative of one, or a move between a view and its base."""
        return self.entry.op

    @property
    def args(self) -> tuple[GradientEdge, ...]:
        """The gradient edges of the op's operands."""
        return self.entry.args

    @property
    def derivative(self) -> bool:
        """Whether a call with create_graph recorded the node as the derivative of another op."""
        return isinstance(self.entry.op, Vjp)

    @property
    def must_be_freed(self) -> bool:
        """Whether a call through the node must raise, because its derivative needs saved tensors that are certainly
        freed.
        """
        return self.freed is Certainty.ALWAYS and self.saves is Certainty.ALWAYS

    def free(self, certainty: Certainty, at: int) -> None:
        """Mark the op's saved tensors as freed by call `at`, certainly or possibly."""
        self.freed, self.freed_by = certainty, at


@dataclass(frozen=True, slots=True)
class Traversal:
    """The nodes that a call goes through, newest first, and the gradient edges (values, as they were made) that get a
    cotangent.
    """

    nodes: tuple[Node, ...] = ()
    """The nodes that the call certainly goes through."""
    leaves: frozenset[Ref] = frozenset()
    """The leaves to whose gradients the call adds; empty for a call that returns gradients instead."""
    uses: Mapping[GradientEdge, int] = field(default_factory=dict)
    """For each edge, how many times it is an operand, one that gets a gradient, of the nodes that the roots depend on
    or may depend on, whatever the call's inputs are.
    """
    maybe_nodes: tuple[Node, ...] = ()
    """The nodes that the call may go through or not: ancestors of a derivative's operands, which matter only if the
    derivative depends on them, and, in a call with `inputs`, nodes that not every implementation needs.
    """
    must_accumulate: frozenset[Ref] = frozenset()
    """The values to whose gradients the call certainly adds."""
    may_accumulate: frozenset[Ref] = frozenset()
    """The values to whose gradients the call may add or not, without those in `must_accumulate`."""
    must_reach: frozenset[GradientEdge] = frozenset()
    """The edges that certainly get a cotangent if the call goes through the whole graph of its roots, whatever the
    call's inputs are.
    """
    must_fire: frozenset[GradientEdge] = frozenset()
    """The edges whose hooks the call certainly runs."""
    may_fire: frozenset[GradientEdge] = frozenset()
    """The edges whose hooks the call may run or not, without those in `must_fire`."""
    may_reach: frozenset[GradientEdge] = frozenset()
    """The edges from which a recorded derivative may have been computed, instead of from its operands; the gradients
    there are unspecified.
    """
    partial_nodes: tuple[Node, ...] = ()
    """The nodes with operands that lead to no input of the call: the call may go through a part of such a node only."""

    @property
    def all_nodes(self) -> tuple[Node, ...]:
        """The nodes that the call certainly goes through, followed by those that it may go through."""
        return (*self.nodes, *self.maybe_nodes)

    @property
    def alone(self) -> bool:
        """Whether the call goes through a single node only, and its op is neither a write nor a derivative."""
        return len(self.nodes) == 1 and not self.maybe_nodes and self.nodes[0].op in OPS


@dataclass(frozen=True, slots=True)
class Expectation:
    """The outcomes that the rules allow for one instruction."""

    returns: Slug | None = slugs.ERRORS_LEGAL_RETURNS
    """The rule by which the instruction returns; None if it must not return."""
    raises: Mapping[Kind, Slug] = field(default_factory=dict)
    """The kinds of error that the instruction may raise, each with its rule; if `returns` is None, it must raise one of
    these.
    """
    exercises: tuple[Slug, ...] = ()
    """The rules that the instruction puts to the test."""
    traversal: Traversal = Traversal()
    """The traversal, if the instruction is a backward call."""
    unspecified: bool = False
    """Whether the rules do not specify what the instruction does if it returns; nothing is judged then."""
