"""Second and third derivatives of ops: every op has programs, and ops with faulty or missing derivatives are
excluded.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autograd_conformance.checking.audit import programs as audit
from autograd_conformance.checking.audit.outcome import AuditResult
from autograd_conformance.checking.check import violation_of
from autograd_conformance.checking.session import FrameworkUnderTest, Settings
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Apply, Backward, ReadGrad
from autograd_conformance.programs.observations import Kind, Raised
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.judge.judge import judge
from autograd_conformance.rules.violations.observed import RaisedError
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.alphabet import Alphabet
from autograd_conformance.strategies.higher_order import derivatives_of
from autograd_conformance.suites.test_higher_ops import passes_lower_orders

STEPS = frozenset({"sign", "floor", "ceil", "round", "trunc"})
"""Ops whose derivatives are zero, so that no second derivative exists."""

TORCH = Torch()
pytestmark = pytest.mark.filterwarnings("ignore:Using backward.. with create_graph:UserWarning")


@pytest.fixture(autouse=True)
def whole_alphabet():
    with alphabet.using(Alphabet(tuple(OPS), TORCH.dtypes, TORCH.capabilities)):
        yield


@pytest.mark.parametrize("op", [name for name in OPS if name not in STEPS])
def test_every_op_is_differentiated_twice(op: str):
    found = list(audit.curvatures(op, ("float64",)))
    assert found
    for program in found:
        kinds = [type(step) for step in program]
        assert kinds.count(Backward) == 2
        assert ReadGrad in kinds
        assert any(isinstance(step, Apply) and step.op == op for step in program)


THRICE = ("multiply", "sin", "exp", "matmul", "softmax", "layer_norm", "var_mean", "conv1d", "logdet", "prod")


@pytest.mark.parametrize("op", [op for op in THRICE if op in OPS])
def test_ops_that_bend_are_differentiated_three_times(op: str):
    found = list(audit.curvatures(op, ("float64",), times=3))
    assert found
    for program in found:
        assert [type(step) for step in program].count(Backward) == 3
        exercised = judge(program, run(program, TORCH), Reference(), TORCH.capabilities).exercised
        assert exercised["higher/op-third"] == exercised["higher/op"] == 1


@pytest.mark.parametrize("op", sorted(STEPS))
def test_ops_that_are_constant_leave_nothing_to_differentiate(op: str):
    assert not list(audit.curvatures(op, ("float64",)))


@pytest.mark.parametrize("op", ["multiply", "sin", "matmul", "softmax", "sum", "split"])
def test_the_rule_is_put_to_the_test(op: str):
    for program in audit.curvatures(op, ("float64",)):
        judgement = judge(program, run(program, TORCH), Reference(), TORCH.capabilities)
        assert judgement.violation is None
        assert judgement.exercised["higher/op"] == 1


@pytest.mark.parametrize(
    ("op", "exact"), [("sin", lambda x, g, v: -np.sin(x) * g * v), ("exp", lambda x, g, v: np.exp(x) * g * v)]
)
def test_the_reference_is_the_second_derivative(op: str, exact):
    text = (
        f"a = leaf [1, 2]; b = {op} a; backward b with [3, 5] create=True; c = held a; zero a; backward c with [7, 11]"
    )
    program = parse(text, VOCABULARY)
    reference = Reference(program)
    found = reference.pullbacks.of(program[5])[program.leaves[0]]
    assert np.allclose(found, exact(np.array([1.0, 2.0]), np.array([3.0, 5.0]), np.array([7.0, 11.0])))


@settings(max_examples=20, deadline=None, database=None, derandomize=True)
@given(data=st.data(), op=st.sampled_from(sorted(set(OPS) - STEPS)))
def test_drawn_programs_are_sound(data: st.DataObject, op: str):
    program = data.draw(derivatives_of(op)).program
    violation = violation_of(program, InProcess(TORCH))
    assert violation is None or op in {
        "pow",
        "lgamma",
        "digamma",
        "hardsigmoid",
        "logcumsumexp",
        "binary_cross_entropy",
    }


WRONG_THRICE = {"layer_norm", "layer_norm_affine", "batch_norm", "batch_norm_affine", "instance_norm", "logcumsumexp"}


@pytest.mark.parametrize("op", sorted(WRONG_THRICE | {"group_norm", "rms_norm", "multiply", "sigmoid", "divide"}))
def test_the_audit_finds_faulty_third_derivatives_of_torch(op: str):
    assert audit.is_twice_only(op, InProcess(TORCH), ("float64",)) == (op in WRONG_THRICE)


def test_a_faulty_third_derivative_is_reported_for_its_op():
    found = [violation_of(p, InProcess(TORCH)) for p in audit.curvatures("layer_norm", ("float64",), times=3)]
    assert {(v.rule, v.op) for v in found if v} == {("higher/op-third", "layer_norm")}


@pytest.mark.parametrize(("made", "judged"), [("b = leaf [3, 5]", True), ("b = roll a shifts=1 dims=0", False)])
def test_an_op_with_a_faulty_third_derivative_is_tested_without_other_ops(made: str, judged: bool):
    """A program with another op would violate a rule about both ops, which no known difference lists."""
    text = f"a = leaf [0, 2]; {made}; c = leaf [0, 0]; d = layer_norm_affine a b c normalized_shape=(2,) eps=1.0; "
    calls = "backward d with [0, 1] create=True; e = held a; zero a; backward e with [0, 1] create=True; f = held a"
    program = parse(f"{text}{calls}; zero a; backward f with [0, 1]", VOCABULARY)
    framework = FrameworkUnderTest(Settings("torch"))
    assert passes_lower_orders(program, "layer_norm_affine", framework) is judged


def test_composite_ops_are_not_differentiated_three_times():
    assert audit.is_long("gru")
    assert not audit.is_twice_only("gru", InProcess(TORCH), ("float64",))


# -- frameworks that are wrong about second derivatives alone ---------------------------------------------------------


class Flat(torch.autograd.Function):
    """Sin with a constant first derivative."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.detach().cos()


class Once(torch.autograd.Function):
    """Sin whose derivative raises an error that says it is not implemented."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return Refusing.apply(g * x.cos())


class Refusing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        raise NotImplementedError("the derivative of sin_backward is not implemented")


class WithSin(Torch):
    """PyTorch with another sin."""

    def __init__(self, function: type[torch.autograd.Function]) -> None:
        super().__init__()
        self.function = function

    def apply(self, op, operands, attrs):
        return (self.function.apply(operands[0]),) if op == "sin" else super().apply(op, operands, attrs)


@pytest.mark.parametrize("function", [Flat, Once])
def test_the_audit_finds_an_op_whose_second_derivative_fails(function):
    framework = WithSin(function)
    assert audit.fault_of("sin", InProcess(framework), framework.dtypes) is None
    assert audit.is_once_only("sin", InProcess(framework), framework.dtypes)
    assert not audit.is_once_only("cos", InProcess(framework), framework.dtypes)


def test_a_faulty_second_derivative_violates_its_rule():
    framework = WithSin(Flat)
    found = [violation_of(p, InProcess(framework)) for p in audit.curvatures("sin", ("float64",))]
    rules = {(v.rule, v.op) for v in found if v}
    assert rules == {("higher/op", "sin"), ("higher/differentiable", None)}  # its gradient's history is missing, too


def test_a_second_derivative_that_is_not_implemented_is_reported_and_violates_no_rule():
    framework = WithSin(Once)
    for program in audit.curvatures("sin", ("float64",)):
        observation = run(program, framework)
        assert audit.is_unimplemented(observation)
        outcome = observation[-1].outcome
        assert isinstance(outcome, Raised)
        assert outcome.kind is Kind.NOT_IMPLEMENTED
        assert judge(program, observation, Reference(), framework.capabilities).violation is None


def test_not_implemented_is_no_answer_to_a_first_derivative():
    program = parse("a = leaf [1, 2]; b = sin a; c = sin b; backward c with [1, 1]", VOCABULARY)

    class Never(Torch):
        def backward(self, *call, **options):
            raise NotImplementedError("this is not implemented")

    violation = violation_of(program, InProcess(Never()))
    assert violation is not None
    assert violation.observed == RaisedError(Kind.NOT_IMPLEMENTED, "NotImplementedError", "this is not implemented")


def test_ops_without_second_derivatives_are_not_in_programs_that_need_them():
    framework = FrameworkUnderTest(Settings("torch"))
    framework.adopt_audit(AuditResult(once=frozenset({"cosh"}), twice=frozenset({"sinh"})))
    framework.prepare()
    current = alphabet.current()
    assert {"cosh", "logcumsumexp", "lgamma"} <= current.first_order_only
    assert "lgamma" in current.ops
    assert not {"lgamma", "cosh"} & set(current.second_order.ops)
    assert "sin" in current.second_order.weighted
    assert {"sinh", "layer_norm", "gru"} <= current.second_order_only
    assert {"sinh", "layer_norm"} <= set(current.second_order.ops)
    assert not {"sinh", "layer_norm", "cosh", "gru"} & set(current.third_order.ops)
