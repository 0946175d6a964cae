"""Derivatives in the tails of functions: too few digits are reported, and nothing else."""

from __future__ import annotations

import math

import pytest

from autograd_conformance.checking.check import first_violation
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.reference.exact import FIRST, derivative
from autograd_conformance.rules.judge.judgement import waives_nothing


def rule(text: str) -> str | None:
    target, program = InProcess(Torch()), parse(text)
    found = first_violation(program, target.observe(program), target, waives_nothing)
    return None if found is None else found.rule


@pytest.mark.parametrize(
    "text",
    [
        "a = leaf 40; b = sigmoid a; backward b with 1",
        "a = leaf [1, 40]; b = sigmoid a; c = grad b wrt a with [1, 1e20]",
        "a = leaf 1e-10; b = sinc a; backward b with 1",
        "a = leaf 0; b = sinc a; c = grad b wrt a with 1 create=True; backward c with 1",
        "a = leaf 40; b = logsigmoid a; c = grad b wrt a with 1 create=True; backward c with 1",
    ],
)
def test_too_few_digits_are_told(text: str) -> None:
    assert rule(text) == "gradients/tails"


@pytest.mark.parametrize(
    "text",
    [
        "a = leaf -40; b = sigmoid a; backward b with 1",
        "a = leaf 40; b = logsigmoid a; backward b with 1",
        "a = leaf [2, -3, 0.5]; b = tanh a; backward b with [1, 1, 1]",
        "a = leaf -25; b = tanh a; c = grad b wrt b with -70",
        "a = leaf -25; b = tanh a; backward b inputs b with -70",
        "a = leaf 800; b = exp a; backward b with 1",
        "a = leaf -40; b = log a; backward b with 1",
        "a = leaf 40; b = sigmoid a; c = sin b; backward c with 1",
    ],
)
def test_other_gradients_are_not(text: str) -> None:
    assert rule(text) is None


def test_exact_derivatives_are_those_of_calculus() -> None:
    assert derivative("sigmoid", 40.0) == pytest.approx(math.exp(-40.0), rel=1e-15)
    assert derivative("tanh", -400.0) == pytest.approx(4 * math.exp(-800.0), rel=1e-14)
    assert derivative("sinc", 0.0, 2) == pytest.approx(-(math.pi**2) / 3, rel=1e-15)
    assert all(math.isfinite(derivative(op, 1.25 if op == "acosh" else 0.25)) for op in FIRST)
    assert math.isnan(derivative("log", -1.0)) and math.isnan(derivative("exp", 1e5))
