"""A case runs each program once, runs a program again only on request, and bounds the time of all searches."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import pytest

from autograd_conformance.checking.check import first_violation
from autograd_conformance.failures.case import Case
from autograd_conformance.failures.evidence.votes import votes
from autograd_conformance.failures.reduce import reduced
from autograd_conformance.failures.variations.ablation import essential_ops
from autograd_conformance.failures.variations.nearest import nearest
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Program
from autograd_conformance.rules.violations.violation import Violation
from evaluation.mutants.graphs import UseOnce
from tests.failures.cases import failing

TEXT = "u = leaf [3, 4]; a = leaf [1.5, 2]; v = sin u; b = multiply a a; backward b with [3, 4]"


def counted(framework: Torch, text: str = TEXT) -> tuple[Case, list[Program]]:
    """A failure, and the programs that run from now on."""
    runs: list[Program] = []
    return replace(failing(framework, text), target=InProcess(framework, runs.append)), runs


def test_a_program_runs_once_for_a_failure_and_for_the_cases_derived_from_it() -> None:
    case, runs = counted(UseOnce())
    small = reduced(case)
    assert len(small.program) < len(case.program)
    before = len(runs)
    assert len({*map(repr, runs)}) == before
    assert small.observe(small.program) is small.observation
    assert reduced(small).program == small.program
    assert {*map(repr, runs)} >= {repr(small.program)} and len({*map(repr, runs)}) == len(runs)


def test_a_program_runs_again_on_request() -> None:
    case, runs = counted(UseOnce())
    first = case.judge(case.program)
    again = case.judge_again(case.program)
    assert first is not again and len(runs) == 2
    assert case.judge(case.program) is first and len(runs) == 2


def test_programs_with_another_sign_of_zero_are_two_programs() -> None:
    case, runs = counted(UseOnce())
    for zero in ("0", "-0.0"):
        case.judge(parse(f"a = leaf {zero}; b = abs a; backward b"))
    assert len(runs) == 2


@pytest.mark.parametrize("waived", [True, False])
def test_a_waived_violation_does_not_end_the_judging(waived: bool) -> None:
    case, _ = counted(UseOnce(), TEXT + " retain=True; backward b with [1, 1]")
    asked: list[Violation] = []

    def waives(violation: Violation) -> bool:
        asked.append(violation)
        return waived

    judged = case.judge(case.program)
    expected = first_violation(case.program, judged.observation, case.target, waives)
    found = judged.violation_unless(waives)
    assert (found is None) == (expected is None) == waived
    assert asked and judged.violation is not None and judged.violation.rule == case.violation.rule


def test_searches_end_at_the_deadline() -> None:
    case, runs = counted(UseOnce())
    over = replace(case, until=time.monotonic())
    assert over.is_over() and not case.is_over()
    assert (nearest(over), essential_ops(over), votes(over)) == (None, (), None)
    reduced(over)
    assert len(runs) <= 8
    assert votes(case) is not None


def test_reducing_takes_half_of_the_time() -> None:
    case = failing(UseOnce(), TEXT)
    assert case.middle() == math.inf
    now = time.monotonic()
    assert now + 45 < replace(case, until=now + 100).middle() < now + 55
