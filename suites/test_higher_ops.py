"""Higher order, op by op: second and third derivatives of each op, with and without differentiable cotangents."""

from __future__ import annotations

from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograd_conformance.checking.audit import corners, uses
from autograd_conformance.checking.audit import programs as audit
from autograd_conformance.checking.audit.batches import check_all
from autograd_conformance.checking.check import Check, violation_of
from autograd_conformance.checking.session import FrameworkUnderTest
from autograd_conformance.checking.skips import NotApplicable, NothingDrawn
from autograd_conformance.ops.catalogue import WRITES
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Apply, BackwardCall, Program
from autograd_conformance.strategies.higher_order import WEIGHT_OP, derivatives_of

rule = pytest.mark.rule

FEW = settings().max_examples // 120
"""Number of drawn programs for the second derivative of one op, besides the fixed programs; a third as many are drawn
for its third derivative. A quick run draws none.
"""

SEEDS = 1 if settings().max_examples < 500 else 4

SAMPLED = 5
"""In a quick run, one in this many ops is tested with third derivatives, because tracing all of them takes minutes."""


@rule("higher/op")
def test_op_samples(check: Check, prepared: FrameworkUnderTest, op: str):
    samples(check, prepared, op, 2, SEEDS)
    if op not in prepared.faulty_ops | prepared.faulty_second_order:
        check_all(check, uses.attributes(op, prepared.drawable[0], 2))


@rule("higher/op-third")
def test_third_samples(check: Check, prepared: FrameworkUnderTest, op: str):
    if not audit.is_long(op) and (SEEDS > 1 or crc32(op.encode()) % SAMPLED == 0):
        samples(check, prepared, op, 3, 1)


@rule("higher/differentiable")
@pytest.mark.parametrize("write", WRITES)
def test_write_samples(check: Check, prepared: FrameworkUnderTest, write: str):
    if Capability.WRITES not in prepared.target.capabilities or write not in prepared.target.writes:
        raise NotApplicable(f"needs {write}, not claimed")
    check_all(check, corners.written_curvatures(write, prepared.drawable))


if FEW >= 3:

    @rule("higher/op")
    @settings(max_examples=FEW)
    @given(data=st.data())
    def test_op(check: Check, prepared: FrameworkUnderTest, op: str, data: st.DataObject):
        drawn = data.draw(derivatives_of(op))
        if passes_lower_orders(drawn.program, op, prepared):
            check(drawn)

    @rule("higher/op-third")
    @settings(max_examples=FEW // 3)
    @given(data=st.data())
    def test_third(check: Check, prepared: FrameworkUnderTest, op: str, data: st.DataObject):
        drawn = data.draw(derivatives_of(op, 3))
        if not audit.is_long(op) and passes_lower_orders(drawn.program, op, prepared):
            check(drawn)


def samples(check: Check, framework: FrameworkUnderTest, op: str, times: int, seeds: int) -> None:
    """Checks the fixed programs that differentiate an op `times` times, with `seeds` draws of values for each dtype.
    The test is skipped if the framework reports that this derivative of the op is not implemented.
    """
    suspect = op in framework.faulty_ops | framework.faulty_second_order | framework.faulty_third_order
    unsupported = False
    for program in audit.curvatures(op, framework.drawable, seeds, times):
        if passes_lower_orders(program, op, framework):
            check(program)
            unsupported |= suspect and audit.is_unimplemented(framework.target.observe(program))
    if unsupported:
        order = {2: "second", 3: "third"}[times]
        raise NothingDrawn(f"{framework.target.name} does not implement the {order} derivative of {op}")


def passes_lower_orders(program: Program, op: str, framework: FrameworkUnderTest) -> bool:
    """Returns whether a program can test an op's highest derivative. If a lower derivative of the op is known to be
    faulty, runs the program without its last call: these calls must follow the rules, because a fault in a lower
    derivative has its own rule.

    If the op's highest derivative is known to be faulty, the program must have no other op. Otherwise the program would
    violate a rule about several ops.
    """
    calls = [at for at, step in enumerate(program) if isinstance(step, BackwardCall)]
    faulty = framework.faulty_second_order if len(calls) == 2 else framework.faulty_third_order
    others = {step.op for step in program if isinstance(step, Apply)} - {op, WEIGHT_OP}
    if op in faulty and others:
        return False
    if len(calls) < 2 or op not in (
        framework.faulty_ops if len(calls) == 2 else framework.faulty_ops | framework.faulty_second_order
    ):
        return True
    return violation_of(program.upto(calls[-2] + 1), framework.target) is None
