"""`jax.vjp` over the whole recorded program agrees with the composed gradients, on which verdicts are based."""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.programs.language import Backward, Grad
from autograd_conformance.programs.observations import Returned
from autograd_conformance.reference import whole_program as whole
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.explanation.context import tape_before
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.sequences import sequences

TORCH = Torch()


@pytest.mark.slow
def test_programs_with_writes_and_higher_orders_have_the_same_gradients():
    compared: Counter[bool] = Counter()

    @settings(max_examples=150, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(drawn=sequences())
    def agree(drawn: Drawn) -> None:
        program = drawn.program
        if not program.stateful:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            observation = run(program, TORCH)
        at = max((n for n, step in enumerate(program) if isinstance(step, (Backward, Grad))), default=None)
        if at is None or not isinstance(observation[at].outcome, Returned):
            return
        call = program[at]
        assert isinstance(call, (Backward, Grad))
        tape, expectation = tape_before(program, observation, Reference(), TORCH.capabilities, at)
        reference = tape.reference
        if (
            reference.unspecified
            or expectation.unspecified
            or any(not np.isfinite(v).all() for v in reference.values.values())
        ):
            return
        contributed = reference.pullbacks.of(call)
        for leaf in expectation.traversal.leaves:
            again = whole.recorded(reference, call, leaf)
            if again is not None and leaf in contributed:
                scale = max(1.0, float(np.abs(contributed[leaf]).max(initial=0.0)))
                assert np.abs(again - contributed[leaf]).max(initial=0.0) <= 1e-8 * scale
                compared[bool(np.any(contributed[leaf]))] += 1

    agree()
    assert compared[True] > 30
