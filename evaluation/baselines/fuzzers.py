"""Fuzzers: programs with one backward call, whose gradients are compared with the reference within a loose
tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import hypothesis
import numpy as np
from hypothesis import HealthCheck, Phase, given, settings

from autograd_conformance.frameworks.pytorch.eager import TorchEager
from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.programs.language import Backward, Program, Ref
from autograd_conformance.programs.observations import Raised
from autograd_conformance.reference.reference import Reference
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.situations import gradients

GRAPHS = 200
"""Number of graphs in a sweep."""


def expectation(program: Program, tolerance: float) -> Callable[[TorchEager], bool]:
    """A function that returns True if a framework raises or its gradients differ from the reference's."""
    wanted: dict[Ref, np.ndarray | None] | None = None

    def complains(mutant: TorchEager) -> bool:
        nonlocal wanted
        wanted = _wanted(program) if wanted is None else wanted
        observation = run(program, mutant)
        if any(isinstance(seen.outcome, Raised) for seen in observation):
            return True
        held = observation[-1].gradients
        return any(_differ(held[leaf] and held[leaf].value, value, tolerance) for leaf, value in wanted.items())

    return complains


def _wanted(program: Program) -> dict[Ref, np.ndarray | None]:
    reference = Reference(program)
    call = program[len(program) - 1]
    assert isinstance(call, Backward)
    pulled = reference.pullbacks.of(call)
    leaves = (leaf for leaf in program.leaves if reference.requires_grad[leaf])
    return {leaf: _array(pulled.get(reference.tape.edge(leaf))) for leaf in leaves}


def _array(value: object) -> np.ndarray | None:
    return None if value is None else np.asarray(value)


def _differ(got: np.ndarray | None, want: np.ndarray | None, tolerance: float) -> bool:
    if got is None or want is None:
        return (got is None) != (want is None)
    return got.shape != want.shape or not np.allclose(got, want, rtol=tolerance, atol=tolerance, equal_nan=True)


def random_graphs(number: int) -> Iterator[Program]:
    """The random graphs of a sweep, each with one backward call."""
    found: list[Program] = []

    @hypothesis.seed(number)
    @settings(
        max_examples=GRAPHS, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(gradients.whole_graphs())
    def draw(drawn: Drawn) -> None:
        found.append(drawn.program)

    draw()
    yield from found
