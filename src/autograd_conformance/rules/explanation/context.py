"""The context of a failure, from which explanations are written: the program, the observation, and the tape (the model
of what the framework recorded) before the failing line.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

from autograd_conformance.ops.catalogue import APPLIED
from autograd_conformance.ops.rows.row import Certainty
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.formats.text import names
from autograd_conformance.programs.language import DetachInPlace, InPlace, Program, Ref, Step
from autograd_conformance.programs.observations import Observation, Raised, Skipped, region_steps
from autograd_conformance.programs.operands import operands
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.computation.reverse import MOVE
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reference.saved_tensors import needs
from autograd_conformance.reference.staging.vjp import base_op
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.prose import joined
from autograd_conformance.rules.violations.violation import Violation
from autograd_conformance.tape.graph import Expectation, Node
from autograd_conformance.tape.model import Tape
from autograd_conformance.tape.trace import trace
from autograd_conformance.tape.versions import kept_storages


@dataclass(frozen=True)
class Context:
    """A failure with the tape (the model of what the framework recorded) before the failing line. Instructions count
    from 0, and lines of the printed code from 1.
    """

    program: Program
    observation: Observation
    tape: Tape
    """The tape, the model of what the framework recorded, before the failing line."""
    violation: Violation
    expectation: Expectation
    """The outcomes that the rules allow at the failing line."""

    @property
    def reference(self) -> Reference:
        """The reference, which computes right values and gradients, in its state before the failing line."""
        return self.tape.reference

    @cached_property
    def names(self) -> dict[Ref, str]:
        """The name of every value in the program's text."""
        return names(self.program)

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes that the failing call goes through, or may go through."""
        return (*self.expectation.traversal.nodes, *self.expectation.traversal.maybe_nodes)

    @cached_property
    def lines_traversed(self) -> frozenset[int]:
        """The numbers, from 0, of the instructions that recorded the nodes that the failing call goes through, or may
        go through.
        """
        return frozenset(node.at for node in self.nodes)

    @property
    def lifetime(self) -> bool:
        """Whether the broken rule is about legal or refused calls, or about graphs and saved tensors being kept or
        freed.
        """
        return RULES[self.violation.rule].is_about_lifetime

    def raised(self, at: int) -> Raised | None:
        """Returns the error that an instruction raised; None if it raised none."""
        outcome = self.observation[at].outcome
        return outcome if isinstance(outcome, Raised) else None

    @property
    def kinds(self) -> str:
        """The kinds of errors that the failing line may raise, in words, such as "graph freed or modified in place"."""
        return " or ".join(kind.value for kind in self.expectation.raises)

    def name(self, ref: Ref | None) -> str:
        """Returns a value's name. A gradient that no instruction makes has none, and is called "a gradient"; for None,
        returns "nothing".
        """
        return self.names.get(ref, "a gradient") if ref is not None else "nothing"

    def named(self, refs: Iterable[Ref]) -> str:
        """Returns the names of several values as a list in words, such as "x, y and z"."""
        return joined(self.name(r) for r in dict.fromkeys(refs))

    @cached_property
    def writes(self) -> dict[Ref, list[int]]:
        """For each storage, the numbers, from 0, of the instructions before the failing one that wrote to it, moved it
        in an optimizer step, or detached a value in it in place.
        """
        found: dict[Ref, list[int]] = {}
        for at in range(self.violation.at):
            step = self.program[at]
            if not isinstance(step, (InPlace, Step, DetachInPlace)) or self.raised(at) is not None:
                continue
            if isinstance(self.observation[at].outcome, Skipped):
                continue
            for target in step.leaves if isinstance(step, Step) else (step.target,):
                found.setdefault(self.reference.storages.storage(target), []).append(at)
        return found

    def aliases(self, ref: Ref) -> list[Ref]:
        """Returns the other values of the program that share a value's memory before the failing line."""
        return [r for r in self.reference.storages.aliases(ref) if r != ref and r in self.names]

    def needs(self, node: Node) -> list[Ref]:
        """Returns the operands that a node's derivative depends on."""
        entry = node.entry
        refs = operands(self.program[entry.at]) if entry.at < len(self.program) else ()
        if entry.op == MOVE or node.derivative or len(refs) != len(entry.args):
            return []
        shapes = tuple([np.shape(x) for x in entry.operands])
        return [refs[k] for k in sorted(needs(entry.op, entry.attrs, shapes, entry.needs_input_grad))]

    def path(self, ref: Ref) -> list[int]:
        """Returns the numbers of the instructions on the failing call's path to a value; if no path leads there, of all
        that the call goes through.
        """
        ends, found = {self.reference.tape.edge(ref)}, []
        for node in sorted(self.expectation.traversal.nodes, key=lambda node: node.at):
            if ends.intersection(
                s
                for s, needs_input_grad in zip(node.entry.args, node.entry.needs_input_grad, strict=True)
                if needs_input_grad
            ):
                ends.update(node.entry.outs)
                found.append(node.at)
        return found or [node.at for node in self.expectation.traversal.nodes]

    def keepers(self, storage: Ref, before: int) -> list[Node]:
        """Returns the nodes of the failing call, recorded before an instruction, that may have saved a tensor in a
        storage.
        """
        found = [node for node in self.nodes if node.at < before and node.saves is not Certainty.NEVER]
        return sorted((node for node in found if storage in set(kept_storages(node))), key=lambda node: node.at)


def context_of(
    program: Program,
    observation: Observation,
    reference: Reference,
    capabilities: Collection[Capability],
    violation: Violation,
) -> Context:
    """Returns the context of a violation. The program is traced again, up to the failing line."""
    tape, expectation = tape_before(program, observation, reference, capabilities, violation.at)
    return Context(program, observation, tape, violation, expectation)


def tape_before(
    program: Program, observation: Observation, reference: Reference, capabilities: Collection[Capability], until: int
) -> tuple[Tape, Expectation]:
    """Returns the tape (the model of what the framework recorded) before instruction `until`, and the outcomes that the
    rules allow there.

    `reference` is the reference of the program. If the program's right values depend on what is observed, an empty
    reference that follows the observation is used instead.
    """
    if follows := reference.needs_observations(program):
        reference = reference.empty()
        reference.observing = True
    tape = Tape(reference, capabilities, regions=region_steps(observation))
    for traced in trace(program, observation, reference, tape, follows):
        if traced.at == until:
            return tape, Expectation() if traced.skipped else traced.expectation
    raise IndexError(f"nothing was observed of instruction {until}")


def op_name(node: Node) -> str:
    """Returns the name of a node in explanations: its op, or "the view", "the write add_" or "the derivative of exp",
    for example.
    """
    base = base_op(node.op)
    if node.derivative:
        return f"the derivative of {base}"
    return "the view" if base == MOVE else base if base in APPLIED else f"the write {base}"
