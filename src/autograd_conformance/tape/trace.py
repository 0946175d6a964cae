"""Stepping through a program and an observation of it: for each instruction, the allowed and the observed outcome.

The judge, the explanations, the votes and the bounds of relations all use `trace`. Each `TraceStep` comes with the tape
and the reference in the state *before* its instruction. Both are updated when the next step is requested.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from autograd_conformance.programs.capabilities import Traits
from autograd_conformance.programs.language import Instruction, Modes, Program
from autograd_conformance.programs.observations import Observation, Skipped, StepObservation
from autograd_conformance.reference.adoption import record_step
from autograd_conformance.reference.domains import is_smooth
from autograd_conformance.reference.reference import Reference
from autograd_conformance.tape.graph import Expectation
from autograd_conformance.tape.model import Tape
from autograd_conformance.tape.refusals import with_known_kind


@dataclass(slots=True)
class TraceStep:
    """One instruction of a program with its observation, and the state in which the instruction runs."""

    at: int
    """The instruction's number."""
    step: Instruction
    """The instruction."""
    modes: Modes
    """The grad modes in which the instruction runs."""
    observed: StepObservation
    """The observation of the instruction."""
    tape: Tape | None
    """The model of what the framework recorded before the instruction; None if the program is traced with a reference
    alone.
    """
    _expectation: Expectation | None = None

    @property
    def skipped(self) -> bool:
        """Whether the instruction did not run, because an earlier error prevented a value that it needs."""
        return isinstance(self.observed.outcome, Skipped)

    @property
    def expectation(self) -> Expectation:
        """The outcomes that the rules allow for the instruction; computed on first use."""
        return self.compute_expectation() if self._expectation is None else self._expectation

    def compute_expectation(self) -> Expectation:
        """Compute the allowed outcomes now. They depend on the state before the instruction, so this has to be called
        before the reference records the instruction.
        """
        assert self.tape is not None, "a trace without a tape has no expectations"
        self._expectation = self.tape.expect(self.at, self.step, self.modes)
        return self._expectation


def trace(
    program: Program, observation: Observation, reference: Reference, tape: Tape | None, follows: bool
) -> Iterator[TraceStep]:
    """Yield a step for each observed instruction of a program, in order; the tape, if given, is built on `reference`.

    If `follows` is true, the reference records each instruction together with its observation. It must be false if the
    reference has computed the whole program already, or if the caller updates it between two steps.
    """
    for at, (step, observed) in enumerate(zip(program, observation, strict=False)):
        if tape is not None:
            tape.sync_grads(observed)
        traced = TraceStep(at, step, program.mode(at), observed, tape)
        yield traced
        expectation = None if tape is None or traced.skipped else traced.expectation
        if tape is not None and expectation is not None:
            observed = with_known_kind(observed, expectation, tape.capabilities)
        if follows:
            record_step(reference, at, step, traced.modes, observed)
        if tape is not None and expectation is not None:
            tape.record(at, step, expectation, observed, traced.modes)


def first_nonsmooth(program: Program, observation: Observation, traits: Traits) -> int | None:
    """Returns the number of the first instruction that ran and whose op is not smooth at its operands; None if all are
    smooth. From there on, two correct frameworks may compute different gradients.
    """
    reference = Reference(None, traits)
    reference.observing = True
    traced = trace(program, observation, reference, None, follows=True)
    return next((each.at for each in traced if not each.skipped and not is_smooth(each.step, reference.values)), None)


def is_smooth_throughout(program: Program, observation: Observation, traits: Traits) -> bool:
    """Whether every op of a program, as far as it ran, is smooth at its operands."""
    return first_nonsmooth(program, observation, traits) is None
