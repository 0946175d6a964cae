"""Observations of PyTorch in which the part of one instruction is replaced, as a faulty framework would report it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.formats.text import names, parse
from autograd_conformance.programs.language import Program, Ref
from autograd_conformance.programs.observations import Gradient, Kind, Observation, Raised, Returned, StepObservation
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.judge.judge import judge
from autograd_conformance.rules.judge.judgement import Judgement
from autograd_conformance.rules.violations.violation import Violation

TORCH = Torch()
CLAIMS = frozenset(Capability)

Tamper = Callable[[StepObservation, Ref], StepObservation]


def judged(program: Program, observation: Observation, claims: frozenset[Capability] = CLAIMS) -> Judgement:
    """The judgement on an observation."""
    return judge(program, observation, Reference(program), claims)


def tampered(text: str, tamper: Tamper, at: int = -1, of: str = "a") -> tuple[Program, Observation]:
    """A program and PyTorch's observation of it, in which one instruction and its consequences are replaced."""
    program = parse(text, VOCABULARY)
    observation = list(run(program, TORCH))
    assert judged(program, tuple(observation)).violation is None
    ref = {name: ref for ref, name in names(program).items()}[of]
    observation[at] = tamper(observation[at], ref)
    return program, tuple(observation)


def verdict(text: str, tamper: Tamper, at: int = -1, of: str = "a") -> Violation | None:
    """The violation that the judge finds in such an observation."""
    return judged(*tampered(text, tamper, at, of)).violation


# -- ways to tamper ----------------------------------------------------------------------------------------------------


def gradient(change: Callable[[np.ndarray], np.ndarray]) -> Tamper:
    """The leaf's gradient has another value."""

    def tamper(observed: StepObservation, leaf: Ref) -> StepObservation:
        held = observed.gradients[leaf]
        assert held is not None
        return replace(
            observed, gradients={**observed.gradients, leaf: replace(held, value=np.array(change(held.value)))}
        )

    return tamper


def holds(held: Gradient | None) -> Tamper:
    """The leaf holds another gradient object, or none."""
    return lambda observed, leaf: replace(observed, gradients={**observed.gradients, leaf: held})


def does(outcome: Raised | Returned) -> Tamper:
    """The instruction has another outcome; the gradients are unchanged."""
    return lambda observed, leaf: replace(observed, outcome=outcome)


def value(**changes: object) -> Tamper:
    """The instruction's last result is another tensor."""

    def tamper(observed: StepObservation, leaf: Ref) -> StepObservation:
        assert isinstance(observed.outcome, Returned)
        *others, last = observed.outcome.values
        return replace(observed, outcome=Returned((*others, replace(last, **changes))))  # type: ignore[arg-type]

    return tamper


def to(*numbers: float) -> Callable[[np.ndarray], np.ndarray]:
    """A change to these numbers, whatever was there before."""
    return lambda old: np.array(numbers, dtype=old.dtype).reshape(old.shape)


def one(number: float) -> Gradient:
    """A gradient of one number, unrelated to the program."""
    return Gradient(np.array(number), "float64", 1)


FREED = Raised(Kind.GRAPH_FREED, "RuntimeError", "a second time\nand more")
BUG = Raised(Kind.UNKNOWN, "IndexError", "list index out of range")
