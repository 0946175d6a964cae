"""On PyTorch, the printed code of a program behaves like the adapter's calls, and gets the same verdicts."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from torch.autograd.graph import saved_tensors_hooks

from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.pytorch.saved import TorchSaved
from autograd_conformance.frameworks.running.printed import is_observable_in_code, run_printed
from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.observations import Observation
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.judge.judge import judge
from autograd_conformance.rules.violations.violation import Violation
from evaluation.mutants.printed import HALVES, Printed
from tests.strategies.census import programs_of, situations

TORCH = Torch()
DRAWN = [make() for name, make in situations().items() if name not in ("single_ops", "single_writes")]


def said(program: Program, observe: Callable[[Program, Torch], Observation], adapter: Torch = TORCH) -> list[str]:
    """The rules that a program violates, in order, with known differences."""
    broken: list[str] = []

    def excuses(violation: Violation) -> bool:
        broken.append(violation.rule)
        return True

    judge(program, observe(program, adapter), Reference(program), adapter.capabilities, excuses)
    return broken


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(st.one_of(DRAWN))
def test_the_code_does_what_the_calls_do(case: object):
    for program in programs_of(case):
        assume(is_observable_in_code(program))
        assert said(program, run_printed) == said(program, run)


@pytest.mark.parametrize("op", ["split sizes=(1,)", "chunk chunks=1", "tensor_split sections=1", "unstack"])
def test_a_sequence_of_one_result_is_unpacked(op: str):
    name, *attrs = op.split()
    program = parse(" ".join(["a = leaf [2]; b =", name, "a", *attrs, "dim=0; backward b"]), VOCABULARY)
    assert said(program, run_printed) == said(program, run) == []


def test_a_fault_of_the_code_is_seen():
    program = parse("a = leaf 3; b = square a; backward b", VOCABULARY)
    assert said(program, run_printed, Printed(HALVES)) == said(program, run, Printed(HALVES)) != []


def test_a_fault_of_the_calls_alone_is_not():
    program = parse("a = leaf 3; b = square a; backward b", VOCABULARY)
    wrong = Printed(HALVES)
    wrong.dialect = TORCH.dialect
    assert said(program, run) == said(program, run_printed, wrong) == []
    assert said(program, run, wrong)


def test_what_a_hook_is_given_is_not_seen_in_the_code():
    calls = "a = leaf 3; b = square a; k = hook b observe; backward b"
    assert not is_observable_in_code(parse(calls, VOCABULARY))
    assert is_observable_in_code(parse(calls.replace("k = hook b observe; ", ""), VOCABULARY))


def test_saved_tensors_are_counted_in_the_code():
    program = parse("a = leaf 3; b = square a; backward b", VOCABULARY)
    try:
        counted = [step.saved for step in run_printed(program, TorchSaved())]
    finally:  # what counts in printed code is entered for good
        saved_tensors_hooks(lambda x: x, lambda x: x).__exit__()
    assert counted == [step.saved for step in run(program, TorchSaved())] == [0, 1, 0]
