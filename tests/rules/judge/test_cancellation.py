"""Ops on numbers that are close together and far from zero."""

from __future__ import annotations

import numpy as np
import pytest

from autograd_conformance.adapters.jax.adapter import Jax
from autograd_conformance.checking.audit import cancellation
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.programs.formats.parser import parse
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.judge.checks.cancellation import RULE, may_cancel
from autograd_conformance.rules.judge.judge import judge
from evaluation.mutants import MUTANTS

TORCH = InProcess(Torch())

FAR = "a = leaf f32 [[4096, 4095, 4096, 4097]]; b = {}; backward b with f32 {}"
NORM = FAR.format("layer_norm a normalized_shape=(4,) eps=1.0", "[[4093, 4097, 4100, 4094]]")
VARIANCE = FAR.format("var a dim=(1,) keepdim=False correction=1", "[1]")


def judged(text: str, target: InProcess = TORCH):
    program = parse(text)
    return judge(program, target.observe(program), Reference(program), target.capabilities)


def functional(text: str) -> str:
    """The same program with a functional call."""
    return text.replace("backward b", "c = grad b wrt a") + " materialize=True"


def test_the_gradient_of_a_norm_that_subtracts_large_sums_is_told_under_this_rule():
    violation = judged(NORM).violation
    assert violation is not None and (violation.rule, violation.op) == (RULE, "layer_norm")
    assert {allowed.rule for allowed in violation.allowed} == {RULE}


def test_what_is_right_puts_the_rule_to_the_test():
    judgement = judged(VARIANCE)
    assert judgement.violation is None and RULE in judgement.exercised


def test_a_functional_call_is_judged_like_one_that_accumulates():
    """The numbers are larger than those that are drawn, but the op is smooth there."""
    for target in (TORCH, InProcess(Jax())):
        norm, variance = (
            text.replace("backward b", "c = grad b wrt a") + " materialize=True" for text in (NORM, VARIANCE)
        )
        violation = judged(norm, target).violation
        assert violation is not None and (violation.rule, violation.op) == (RULE, "layer_norm")
        judgement = judged(variance, target)
        assert judgement.violation is None and RULE in judgement.exercised


def test_a_variance_by_difference_is_told_under_this_rule():
    violation = judged(VARIANCE, InProcess(MUTANTS["mutants/variance-by-difference"]("cpu"))).violation
    assert violation is not None and violation.rule == RULE


@pytest.mark.parametrize(
    "numbers", ["[[1, 2, 4, 3]]", "[[4096, 3900, 4096, 4097]]", "[[-4096, 4096, 4096, 4097]]", "[[9, 9, 9, 9]]"]
)
def test_other_numbers_do_not_put_it_to_the_test(numbers: str):
    text = VARIANCE.replace("[[4096, 4095, 4096, 4097]]", numbers)
    assert not may_cancel(parse(text)) and RULE not in judged(text).exercised


def test_an_elementwise_op_and_a_second_op_do_not_put_it_to_the_test():
    assert not may_cancel(parse(FAR.format("sin a", "[[1, 1, 1, 1]]")))
    assert not may_cancel(
        parse(FAR.format("sum a dim=(1,) keepdim=False; c = sin b", "[1]").replace("backward b", "backward c"))
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_each_op_has_programs_inside_its_domain(dtype: str):
    functions = cancellation.functions()
    assert {"layer_norm", "var", "cov", "logsumexp", "softmax", "cosine_similarity", "group_norm"} <= {*functions}
    assert len(functions) > 160
    for op in functions:
        programs = list(cancellation.programs(op, (dtype,)))
        assert programs, op
        for program in programs:
            assert may_cancel(program) and not Reference(program).is_outside_domains
            assert all(np.isfinite(value).all() for value in Reference(program).values.values())
    assert not list(cancellation.programs("var", ("bfloat16",)))
