"""Whether the judge still judges: observations of which it is known that they are right, or wrong.

A framework runs in the process of the judge, and may change what that stands on: NumPy's functions, JAX, how the
processor rounds. The judge holds NumPy's functions itself (`programs.own_numpy`); what changes it all the same shows
here.
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

PROGRAM = parse("a = leaf [1, -2]; b = exp a; c = multiply b a; backward c with [1, 3]", VOCABULARY)
CAPABILITIES = frozenset({Capability.IMPERATIVE, Capability.ACCUMULATES, Capability.COTANGENTS})

LEAF, COTANGENT = (1.0, -2.0), (1.0, 3.0)
POWERS = tuple(map(math.exp, LEAF))
PRODUCTS = tuple(power * x for power, x in zip(POWERS, LEAF))
GRADIENT = tuple(given * power * (x + 1) for given, power, x in zip(COTANGENT, POWERS, LEAF))

KNOWN = (
    ("what is right", (GRADIENT,), True),
    ("a gradient twice as large", (tuple(2 * each for each in GRADIENT),), False),
    ("a gradient of NaN", ((GRADIENT[0], math.nan),), False),
    ("a wrong result", (GRADIENT, (PRODUCTS[0], PRODUCTS[1] + 0.1)), False),
)
"""What an observation shows, its gradient and its products, and whether it is right."""

LONGEST = 200
"""How many characters of an error's message are shown."""


def judge_error(turn: int | None = None) -> str | None:
    """What the judge gets wrong here, and what may be the reason; None where it judges as it should.

    With a turn, only one of the wrong observations is judged beside the right one: another each turn, for the bounds of
    a wrong number take milliseconds.
    """
    known = KNOWN if turn is None else (KNOWN[0], KNOWN[1 + turn % (len(KNOWN) - 1)])
    try:
        with np.errstate(all="ignore"):
            wrong = next((about for about, given, is_right in known if _passes(_observation(*given)) != is_right), None)
        how = None if wrong is None else f"it is wrong about {wrong}"
    except Exception as error:
        how = f"it raised {type(error).__name__}: {str(error)[:LONGEST]}"
    return how and f"the suite's judge cannot be trusted in this process: {how}{rebound_note()}"


def _passes(observation: Observation) -> bool:
    return judge(PROGRAM, observation, Reference(PROGRAM), CAPABILITIES).violation is None


def _observation(gradient: tuple[float, ...], products: tuple[float, ...] = PRODUCTS) -> Observation:
    held = Gradient(np.array(gradient), "float64")
    made = [StepObservation(Returned((_tensor(data),))) for data in (LEAF, POWERS, products)]
    return (*made, replace(StepObservation(Returned()), gradients={Ref(0): held}))


def _tensor(data: tuple[float, ...]) -> Tensor:
    return Tensor(np.array(data), "float64", None)
