"""Write pairs: every value that an op reads or makes, changed in place in every way, before the only backward call or
between two.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import settings

from autograd_conformance.checking.check import Check, RuleViolated, violation_of
from autograd_conformance.checking.session import FrameworkUnderTest
from autograd_conformance.checking.skips import NotApplicable, NothingDrawn
from autograd_conformance.checking.support.unsupported import unsupported_by
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.ops.catalogue import WRITES
from autograd_conformance.programs.language import Program
from autograd_conformance.strategies import write_pairs

rule = pytest.mark.rule

MOST = settings().max_examples // 10 if settings().max_examples < 1_000 else sys.maxsize
"""Largest number of programs for one op or one in-place op: a few in the quick profile, more in the standard one, all
in the others.
"""


@rule("writes/error-or-recorded")
def test_op(check: Check, prepared: FrameworkUnderTest, op: str):
    check_pairs(check, prepared, op)


@rule("writes/error-or-recorded")
@pytest.mark.parametrize("write", WRITES)
def test_write(check: Check, prepared: FrameworkUnderTest, write: str):
    check_pairs(check, prepared, write)


def check_pairs(check: Check, framework: FrameworkUnderTest, name: str) -> None:
    """Checks the programs in which a value of the op is changed in place, or in which the in-place op changes a value.
    The first violation is raised after all programs have run; if none can run, the reason is raised, which skips the
    test.
    """
    first = None
    for program in programs(framework.target, framework.drawable, name, program_limit(framework.target)):
        try:
            check(program)
        except RuleViolated as error:
            first = first or error
    if first:
        raise first
    if not check.programs:
        raise skip_reason(framework, name)


def program_limit(target: Target) -> int:
    """Returns the largest number of programs for one op or in-place op; fewer if compiling the regions of each program
    takes long.
    """
    return max(1, MOST // target.programs_each) if target.programs_each else MOST


def skip_reason(framework: FrameworkUnderTest, name: str) -> NotApplicable | NothingDrawn:
    """Returns the exception that skips the test of an op or in-place op of which no program was run, with the
    reason.
    """
    found = [sample.program(*pair) for sample, *pair in write_pairs.pairs(name, framework.drawable)]
    missing = Counter(each for program in found for each in unsupported_by(program, framework.target))
    if missing:
        return NotApplicable(f"needs {missing.most_common(1)[0][0]}, not claimed")
    return NothingDrawn(f"{name} breaks a rule even without a write")


def programs(target: Target, dtypes: Sequence[str], name: str, most: int) -> Iterator[Program]:
    """Yields the programs for an op or in-place op that the framework supports, if the op follows the rules without the
    in-place change.
    """
    passing: dict[Program, bool] = {}
    supported = write_pairs.some_pairs(name, dtypes, most, lambda program: not unsupported_by(program, target))
    for sample, *pair in supported:
        untouched = sample.untouched(pair[1])
        if untouched not in passing:
            passing[untouched] = violation_of(untouched, target) is None
        if passing[untouched]:
            yield sample.program(*pair)
