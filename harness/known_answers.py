"""Whether the judge still judges: observations of which it is known that they are right, or wrong.

A framework runs in the process of the judge, and may change what that stands on: NumPy's functions, JAX, how the
processor rounds. The judge holds NumPy's functions itself (`programs.own_numpy`); what changes it all the same shows
here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Ref
from autograd_conformance.programs.observations import Gradient, Observation, Returned, StepObservation, Tensor
from autograd_conformance.programs.own_numpy import np, said_rebound
from autograd_conformance.programs.parser import parse
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.judge.judge import judge

PROGRAM = parse("a = leaf [1, -2]; b = exp a; c = multiply b a; backward c with [1, 3]", VOCABULARY)
CAPABILITIES = frozenset({Capability.IMPERATIVE, Capability.ACCUMULATES, Capability.COTANGENTS})

LEAF, COTANGENT = (1.0, -2.0), (1.0, 3.0)
POWERS = tuple(map(math.exp, LEAF))
PRODUCTS = tuple(power * x for power, x in zip(POWERS, LEAF))
GRADIENT = tuple(given * power * (x + 1) for given, power, x in zip(COTANGENT, POWERS, LEAF))

LONGEST = 200
"""How many characters of an error's message are shown."""


def unsound() -> str | None:
    """What the judge gets wrong here, and what may be the reason; None where it judges as it should."""
    try:
        with np.errstate(all="ignore"):
            wrong = next((about for about, seen, is_right in _known() if _passes(seen) != is_right), None)
        how = None if wrong is None else f"it is wrong about {wrong}"
    except Exception as error:
        how = f"it raised {type(error).__name__}: {str(error)[:LONGEST]}"
    return how and f"the suite's judge cannot be trusted in this process: {how}{said_rebound()}"


def _passes(observation: Observation) -> bool:
    return judge(PROGRAM, observation, Reference(PROGRAM), CAPABILITIES).violation is None


def _known() -> Iterator[tuple[str, Observation, bool]]:
    """What an observation shows, the observation, and whether it is right."""
    first, second = GRADIENT
    yield "what is right", _observation(GRADIENT), True
    yield "a gradient twice as large", _observation((2 * first, 2 * second)), False
    yield "a gradient of NaN", _observation((first, math.nan)), False
    yield "a wrong result", _observation(GRADIENT, (PRODUCTS[0], PRODUCTS[1] + 0.1)), False


def _observation(gradient: tuple[float, ...], products: tuple[float, ...] = PRODUCTS) -> Observation:
    held = Gradient(np.array(gradient), "float64")
    made = [StepObservation(Returned((_tensor(data),))) for data in (LEAF, POWERS, products)]
    return (*made, replace(StepObservation(Returned()), gradients={Ref(0): held}))


def _tensor(data: tuple[float, ...]) -> Tensor:
    return Tensor(np.array(data), "float64", None)
