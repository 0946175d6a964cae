"""Pairs: every value that an op reads or makes, written to in every way and at every time before a backward call."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import settings

from autograd_conformance.harness.check import Broken, Check, violation_of
from autograd_conformance.harness.session import Session
from autograd_conformance.ops.catalogue import WRITES
from autograd_conformance.programs.capabilities import needs
from autograd_conformance.programs.language import Apply, Program
from autograd_conformance.strategies import write_pairs

rule = pytest.mark.rule

MOST = settings().max_examples // 10 if settings().max_examples < 1_000 else sys.maxsize
"""Programs of one row: a few of them in the quick profile, all in the others."""


@rule("writes/error-or-recorded")
def test_op(check: Check, prepared: Session, op: str):
    every(check, prepared, op)


@rule("writes/error-or-recorded")
@pytest.mark.parametrize("write", WRITES)
def test_write(check: Check, prepared: Session, write: str):
    every(check, prepared, write)


def every(check: Check, session: Session, name: str) -> None:
    """Check the programs of all pairs of a row; the first that breaks a rule is reported when all have been run."""
    broken = None
    for program in programs(session, name):
        try:
            check(program)
        except Broken as error:
            broken = broken or error
    if broken:
        raise broken
    if not check.programs:
        pytest.skip("no program of its pairs is within what the framework claims and gets right without a write")


def programs(session: Session, name: str) -> Iterator[Program]:
    """The programs of a row's pairs that ask for nothing unclaimed, of samples that are right without a write."""
    chosen = list(write_pairs.programs(name, session.drawable))
    if len(chosen) > MOST:
        order = np.random.default_rng(0).permutation(len(chosen))[:MOST]
        chosen = [chosen[k] for k in sorted(order)]
    sound: dict[write_pairs.Sample, bool] = {}
    for sample, *pair in chosen:
        program = sample.program(*pair)
        ops = {step.op for step in program if isinstance(step, Apply)}
        if needs(program) <= session.target.capabilities and ops <= set(session.target.ops):
            if sample not in sound:
                sound[sample] = violation_of(sample.untouched(), session.target) is None
            if sound[sample]:
                yield program
