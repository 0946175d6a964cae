"""Higher order, op by op: the second derivative of each op by itself, with differentiable cotangents and without."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frameworks.runner import run
from harness import audit
from harness.checking import Check, violation_of
from harness.session import Session
from rules.language import Backward, Program
from strategies.curvatures import curvatures

rule = pytest.mark.rule

FEW = max(1, settings().max_examples // 120)
"""Programs for one op besides the fixed ones."""

SEEDS = 1 if settings().max_examples < 1_000 else 4


@rule("higher/op")
def test_op_samples(check: Check, prepared: Session, op: str):
    suspect, unsupported = op in prepared.broken | prepared.broken_twice, False
    for program in audit.curvatures(op, prepared.drawable, SEEDS):
        if sound(program, op, prepared):
            check(program)
            unsupported |= suspect and audit.unsupported(run(program, prepared.framework))
    if unsupported:
        pytest.skip(f"{prepared.framework.name} does not implement the second derivative of {op}")


@rule("higher/op")
@settings(max_examples=FEW)
@given(data=st.data())
def test_op(check: Check, prepared: Session, op: str, data: st.DataObject):
    program = data.draw(curvatures(op))
    if sound(program, op, prepared):
        check(program)


def sound(program: Program, op: str, session: Session) -> bool:
    """Whether an op is right as far as the call that makes its gradients differentiable: else that is what fails."""
    if op not in session.broken:
        return True
    first = next((at for at, step in enumerate(program) if isinstance(step, Backward)), len(program))
    return violation_of(program.upto(first + 1), session.framework, session.claims) is None
