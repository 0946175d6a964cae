"""Copies of recorded programs, without what a framework does not support."""

from __future__ import annotations

from dataclasses import replace

from autograd_conformance.interactions.history import History
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Backward, BackwardCall, Grad, Instruction, Leaf, Modes, Program, Ref
from autograd_conformance.programs.operands import operands, refer, results
from autograd_conformance.strategies.building.alphabet import current
from autograd_conformance.strategies.building.drafts.script import Script
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.crossing.admission import can_follow


class Copy:
    """A program under construction that is a copy of another one, with some instructions left out or put in."""

    def __init__(self) -> None:
        self.script = Script(current(), tracked=True)
        """The instructions of the copy."""
        self.history = History()
        """The facts of each value of the copy."""
        self.new: dict[Ref, Ref] = {}
        """The values of the copied program, each with the value of the copy that takes its place."""

    def add(self, step: Instruction, modes: Modes) -> int:
        """Adds an instruction about values of the copy, and returns its number."""
        self.script.modes = modes
        at = self.script.add(step)
        self.history.record(at, step, modes, operands(step))
        return at

    def copy(self, at: int, step: Instruction, modes: Modes) -> None:
        """Copies an instruction, unless an operand is missing or the instruction cannot follow in the copy."""
        if any(ref not in self.new for ref in operands(step)):
            return
        changed = refer(step, self.new)
        if isinstance(changed, BackwardCall):
            changed = self._offered(changed)
        if can_follow(self.script, changed, modes):
            made = self.add(changed, modes)
            self.new.update({Ref(at, k): Ref(made, k) for k in range(results(step))})

    def _offered(self, call: BackwardCall) -> BackwardCall:
        """Returns the call that the framework offers in place of one: without `retain_graph`, or a functional call for
        all leaves.
        """
        can, script = self.script.alphabet.can, self.script
        if not can(Capability.RETAIN):
            call = replace(call, retain_graph=None)
        if isinstance(call, Backward) and can(Capability.IMPERATIVE):
            return call
        zeros = can(Capability.MATERIALIZES)
        unused = None if zeros else True
        if isinstance(call, Grad):
            return call if can(Capability.UNUSED) else replace(call, allow_unused=unused, materialize_grads=zeros)
        leaves = (ref for ref in script.live if isinstance(script.reference.steps[ref.at], Leaf))
        inputs = tuple(ref for ref in leaves if script.requires(ref))
        creates = call.create_graph and can(Capability.CREATE_GRAPH)
        if not inputs:
            return call
        return Grad(call.roots, inputs, call.cotangents, call.retain_graph, creates, unused, zeros)

    def drawn(self) -> Drawn | None:
        """Returns the copy; None if no backward call is left of it, or it differentiates an op that breaks a rule when
        it runs alone.
        """
        made = self.script.program()
        calls = any(isinstance(step, BackwardCall) for step in made)
        return self.script.drawn() if calls and not self.script.alphabet.uses_faulty(made) else None


def supported_part(program: Program) -> Program | None:
    """Returns a program without the instructions that the framework does not support, and without those that depend on
    their results; None if no backward call is left.
    """
    copy = Copy()
    for at, step in enumerate(program):
        copy.copy(at, step, program.mode(at))
    drawn = copy.drawn()
    return None if drawn is None else drawn.program
