"""Checks that the judge works: it has to accept a right observation and to reject wrong ones.

The framework runs in the process of the judge, and may change NumPy, JAX, or the rounding mode of the processor. The
judge keeps its own NumPy functions (`programs.own_numpy`); this check detects any other change.
"""

from __future__ import annotations

import math
from dataclasses import replace

from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.formats.parser import parse
from autograd_conformance.programs.language import Ref
from autograd_conformance.programs.observations import Gradient, Observation, Returned, StepObservation, Tensor
from autograd_conformance.programs.own_numpy import np, rebound_note
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.judge.judge import judge

PROGRAM = parse("a = leaf [1, -2]; b = exp a; backward b with [1, 3]", VOCABULARY)
CAPABILITIES = frozenset({Capability.IMPERATIVE, Capability.ACCUMULATES, Capability.COTANGENTS})

LEAF, COTANGENT = (1.0, -2.0), (1.0, 3.0)
POWERS = tuple(map(math.exp, LEAF))
GRADIENT = tuple(given * power for given, power in zip(COTANGENT, POWERS))

KNOWN = (
    ("what is right", (GRADIENT,), True),
    ("a gradient twice as large", (tuple(2 * each for each in GRADIENT),), False),
    ("a gradient of NaN", ((GRADIENT[0], math.nan),), False),
    ("a wrong result", (GRADIENT, (POWERS[0], POWERS[1] + 0.1)), False),
)
"""Observations of `PROGRAM` with a known verdict: what is right or wrong about each, its gradient (and, if not the
right ones, the powers), and whether the judge has to accept it.
"""

EVERY = 4
"""A wrong observation is judged in one of so many turns."""

LONGEST = 200
"""Largest number of characters of an exception's text that the message shows."""


def judge_error(turn: int | None = None) -> str | None:
    """Returns a message that says why the judge cannot be trusted in this process; None if it judges all known
    observations correctly.

    With `turn`, a counter, the right observation is judged, and in every fourth turn a wrong one as well, each time
    another one, because the error bounds of a wrong value take milliseconds to compute.
    """
    right, *wrong = KNOWN
    if turn is not None:
        wrong = [] if turn % EVERY else [wrong[turn // EVERY % len(wrong)]]
    known = [right, *wrong]
    try:
        with np.errstate(all="ignore"):
            failed = next((each for each, given, is_right in known if _passes(_observation(*given)) != is_right), None)
        how = None if failed is None else f"it is wrong about {failed}"
    except Exception as error:
        how = f"it raised {type(error).__name__}: {str(error)[:LONGEST]}"
    return how and f"the suite's judge cannot be trusted in this process: {how}{rebound_note()}"


def _passes(observation: Observation) -> bool:
    return judge(PROGRAM, observation, Reference(PROGRAM), CAPABILITIES).violation is None


def _observation(gradient: tuple[float, ...], powers: tuple[float, ...] = POWERS) -> Observation:
    gradients = Gradient(np.array(gradient), "float64")
    made = [StepObservation(Returned((_tensor(data),))) for data in (LEAF, powers)]
    return (*made, replace(StepObservation(Returned()), gradients={Ref(0): gradients}))


def _tensor(data: tuple[float, ...]) -> Tensor:
    return Tensor(np.array(data), "float64", None)
