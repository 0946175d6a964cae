"""The conclusions from votes are true sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from autograd_conformance.checking.check import RuleViolated, first_violation
from autograd_conformance.checking.session import Session, Settings
from autograd_conformance.failures.case import Case
from autograd_conformance.failures.evidence.votes import _decide, _forward, votes
from autograd_conformance.failures.record import failure
from autograd_conformance.frameworks.loading.registry import load
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Apply, Attrs, Leaf
from autograd_conformance.reporting.render import text
from tests.failures.test_reduced_domains import Halves, _Half

SMALL = "The difference is too small for finite differences to resolve; JAX decides."
NEITHER = "Finite differences agree with neither; JAX decides."
FORWARD = "Finite differences agree with the framework: the forward pass differs from the op's definition."
AGREE = "Finite differences of the framework's own forward pass agree with JAX: the gradient is wrong."


@pytest.mark.parametrize(
    ("got", "want", "differences", "decision"),
    [
        (1.5, 3.0, 3.00001, AGREE),
        (
            1.5,
            3.0,
            1.5,
            "Finite differences agree with the framework: the forward pass differs from the op's definition.",
        ),
        (3.0, 3.0 + 1e-12, 2.999, SMALL),
        (0.0, 3.0, 1.5, NEITHER),
        (0.0, 3.0, 100.0, NEITHER),
        (100.0, 1.0, 20.0, NEITHER),
        (np.nan, 3.0, 3.0, "The framework's gradient is not a number, and JAX's is one: the gradient is wrong."),
        (-np.inf, 3.0, 3.0, "The framework's gradient is infinite, and JAX's is not: the gradient is wrong."),
        (1.5, 3.0, np.nan, "JAX disagrees with the framework; finite differences do not decide."),
    ],
)
def test_a_decision_holds(got: float, want: float, differences: float, decision: str) -> None:
    assert _decide(*map(np.array, (got, want)), True, np.array(differences)) == decision


class NoNumber(Halves):
    """The gradient of one op is not a number."""

    def gradient(self, leaf):
        gradient = super().gradient(leaf)
        return None if gradient is None else gradient * float("nan")


def broken(source: str, framework: Torch) -> RuleViolated:
    program, target = parse(source, VOCABULARY), InProcess(framework)
    observation = target.observe(program)
    violation = first_violation(program, observation, target)
    assert violation is not None
    return RuleViolated(program, observation, violation, target)


def test_a_gradient_that_is_no_number_is_called_so(tmp_path) -> None:
    found = failure(
        broken("a = leaf [1.5, 2]; b = exp a; backward b with [1, 1]", NoNumber("exp")),
        "t",
        Session.of(Settings("torch", tmp_path)),
    )
    said = " ".join(text.render(found).split())
    assert "Error: not a number (a number is expected)" in said
    assert "too small" not in said and "nan times" not in said
    assert "is not a number, and JAX's is one" in said


def test_no_finite_difference_is_taken_over_a_kink() -> None:
    """A float32 leaf is moved by 0.01, here times 9, which crosses zero."""
    source = "a = leaf f32 [{}]; b = subtract_scalar a scalar=2.0; c = multiply_scalar b scalar=3; "
    source += "d = multiply_scalar c scalar=3; e = abs d; backward e with [1]"
    cast = votes(Case.of(broken(source.format(2.5), Halves("abs"))))
    assert cast is not None and "agree with JAX" in cast.decision
    assert votes(Case.of(broken(source.format(2.0078125), Halves("abs")))) is None


@pytest.mark.parametrize("number", ["3000000", "-4e19"])
def test_a_large_number_is_moved_as_well(number: str) -> None:
    cast = votes(Case.of(broken(f"a = leaf f32 [{number}]; b = negative a; backward b with [1]", Halves("negative"))))
    assert cast is not None and "agree with JAX" in cast.decision


def test_no_vote_is_taken_on_what_a_hook_got_before_a_write() -> None:
    """The hook belongs to the value before the write, and JAX would differentiate the value after it."""
    source = "a = leaf [1.5, 2]; b = square a; h = hook b observe; write b exp_; backward b with [3, 4]"
    program = parse(source, VOCABULARY)
    target = InProcess(load("torch"))
    observation = list(target.observe(program))
    (call,) = observation[-1].fired
    halved = replace(call, value=np.asarray(call.value) / 2)
    observation[-1] = replace(observation[-1], fired=(halved,))
    violation = first_violation(program, observation, target)
    assert violation is not None and violation.got is not None
    assert violation.observed.is_about_hook()
    assert votes(Case.of(RuleViolated(program, tuple(observation), violation, target))) is None


class SecondHalved(Torch):
    """The first derivative of exp is right, the second is half of the right one."""

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        return (_Exp.apply(*operands),) if op == "exp" else super().apply(op, operands, attrs)


class _Exp(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, operand: torch.Tensor) -> torch.Tensor:
        context.save_for_backward(operand)
        return operand.exp()

    @staticmethod
    def backward(context: Any, cotangent: torch.Tensor) -> torch.Tensor:
        (operand,) = context.saved_tensors
        return cotangent * _Half.apply(operand.exp())


class Unrecorded(Torch):
    """Does not record writes: the value before them gets the whole gradient."""

    def write(self, op: str, target: torch.Tensor, operands: Sequence[torch.Tensor], attrs: Attrs) -> None:
        with torch.no_grad():
            super().write(op, target.data, operands, attrs)


def test_finite_differences_decide_about_a_second_derivative() -> None:
    source = "a = leaf [1.5, 2]; b = exp a; backward b with [1, 2] create=True; c = held a; backward c with [3, 4]"
    cast = votes(Case.of(broken(source, SecondHalved())))
    assert cast is not None
    assert cast.decision == AGREE.replace("forward pass", "earlier derivative")


@pytest.mark.parametrize("write", ["write b zero_", "write b mul_scalar_ scalar=3"])
def test_finite_differences_decide_about_a_write_that_is_not_recorded(write: str) -> None:
    cast = votes(Case.of(broken(f"a = leaf [1.5, 2]; b = square a; {write}; backward b with [3, 4]", Unrecorded())))
    assert cast is not None and cast.decision == AGREE


def test_finite_differences_use_no_dtype_and_no_shape_that_the_program_has_not() -> None:
    """A framework that has float32 alone would make other leaves, and its adapter would be blamed."""
    program = parse("a = leaf f32 2; b = square a; zero a; c = sin b; backward c", VOCABULARY)
    leaves = [step for step in _forward(program, {}, (Leaf, Apply)) if isinstance(step, Leaf)]
    assert {(leaf.value.dtype, leaf.value.shape) for leaf in leaves} == {("float32", ())}
    assert len(leaves) == 3
