"""The recorded graph as the tape model sees it: nodes, what a call walks, what is expected of an instruction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from autograd_conformance.ops.row import Certainty
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.language import Ref
from autograd_conformance.programs.observations import Kind
from autograd_conformance.reference.reverse import GradientEdge, TapeEntry


@dataclass(slots=True, eq=False)
class Node:
    """A recorded op, and what became of it.

    `walks` counts the calls that went through it; `freed_by` is the one that freed it.
    """

    entry: TapeEntry
    saves: Certainty
    derivative: bool = False
    freed: Certainty = Certainty.NEVER
    freed_by: int | None = None
    walks: int = 0
    was_retained: bool = False

    @property
    def at(self) -> int:
        """The instruction that recorded it."""
        return self.entry.at

    @property
    def op(self) -> str:
        """The op."""
        return self.entry.op

    @property
    def args(self) -> tuple[GradientEdge, ...]:
        """The slots of its operands."""
        return self.entry.args

    @property
    def must_be_freed(self) -> bool:
        """Whether walking this node needs something that no longer exists."""
        return self.freed is Certainty.ALWAYS and self.saves is Certainty.ALWAYS


@dataclass(frozen=True, slots=True)
class Traversal:
    """What a call goes through: its nodes, newest first, and the slots that it reaches.

    `perhaps` are nodes that it may go through: those behind the operands of a derivative, which matter only where the
    derivative depends on them. `leaves` are the leaves that it adds to; `into` all values that it adds to, and
    `maybe` those that it may add to. `reached` are the slots that surely get a cotangent, `called` those whose hooks
    are surely called, `near` those whose hooks may be; `ambiguous` those that a derivative may have been computed
    from, or not: what flows to them is an implementation's choice. `partial_nodes` are the nodes of which not every
    operand leads to an input that is asked for: only a part of them may be walked.
    """

    nodes: tuple[Node, ...] = ()
    leaves: frozenset[Ref] = frozenset()
    uses: Mapping[GradientEdge, int] = field(default_factory=dict)
    maybe_nodes: tuple[Node, ...] = ()
    must_accumulate: frozenset[Ref] = frozenset()
    may_accumulate: frozenset[Ref] = frozenset()
    must_reach: frozenset[GradientEdge] = frozenset()
    must_fire: frozenset[GradientEdge] = frozenset()
    may_fire: frozenset[GradientEdge] = frozenset()
    may_reach: frozenset[GradientEdge] = frozenset()
    partial_nodes: tuple[Node, ...] = ()

    @property
    def alone(self) -> bool:
        """Whether the call goes through a single op and nothing else."""
        return len(self.nodes) == 1 and not self.maybe_nodes and self.nodes[0].op in OPS


@dataclass(frozen=True, slots=True)
class Expectation:
    """What may happen at one instruction.

    `returns` is the rule that lets it return (None: it must not); `raises` the kinds of error that it may raise, each
    with its rule; `exercises` the rules whose situation this instruction brings about. Where it is `unclear` what a
    return would mean, nothing is judged from then on.
    """

    returns: str | None = "errors/legal-returns"
    raises: Mapping[Kind, str] = field(default_factory=dict)
    exercises: tuple[str, ...] = ()
    traversal: Traversal = Traversal()
    unspecified: bool = False
