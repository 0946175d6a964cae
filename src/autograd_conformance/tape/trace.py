"""One trip through a program: instruction by instruction, what may happen there beside what was seen to happen.

The judge, the explanation, the votes, and the bounds of relations all go this way. Whoever asks for the next moment has
the tape and the reference as they stand *before* that instruction; they go on when the moment after it is asked for.
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
    """An instruction of a program that is about to be taken."""

    at: int
    """The instruction's number."""
    step: Instruction
    """The instruction."""
    modes: Modes
    """The grad modes that it stands under."""
    observed: StepObservation
    """What was observed of it."""
    tape: Tape | None
    """The tape before the instruction; None where the trip is made with a reference alone."""
    _expectation: Expectation | None = None

    @property
    def skipped(self) -> bool:
        """Whether the instruction was not run: it needs a value that an earlier error kept from being made."""
        return isinstance(self.observed.outcome, Skipped)

    @property
    def expectation(self) -> Expectation:
        """What the rules allow for the instruction, computed when it is first asked for."""
        if self._expectation is None:
            assert self.tape is not None, "a trip with a reference alone expects nothing"
            self._expectation = self.tape.expect(self.at, self.step, self.modes)
        return self._expectation


def trace(
    program: Program, observation: Observation, reference: Reference, tape: Tape | None, follows: bool
) -> Iterator[TraceStep]:
    """Every instruction of a program that was observed, in order; the tape, if any, stands on that reference.

    `follows` says that the reference takes each instruction together with what was seen of it. It does not where it
    holds the whole program already, nor where the caller lets it take them, between a moment and the next.
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
    """The first line of a program, among those that were run, whose op is not smooth at its operands: beyond, a right
    framework may give what another one does not. None where all are.
    """
    reference = Reference(None, traits)
    reference.observing = True
    traced = trace(program, observation, reference, None, follows=True)
    return next((each.at for each in traced if not each.skipped and not is_smooth(each.step, reference.values)), None)


def is_smooth_throughout(program: Program, observation: Observation, traits: Traits) -> bool:
    """Whether every op of a program, at every line that was run, is smooth at its operands."""
    return first_nonsmooth(program, observation, traits) is None
