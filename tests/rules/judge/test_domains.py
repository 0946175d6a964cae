"""Ops at kinks, poles and ties, or on NaN and infinity, are unspecified: only results that do not depend on them are
judged.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from autograd_conformance.checking.audit.programs import sampling
from autograd_conformance.checking.check import Check
from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Literal
from autograd_conformance.programs.observations import Returned
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.judge.judgement import Judgement
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.situations.gradients import same_arguments
from tests.rules.judge.tampering import TORCH, gradient, judged, tampered, verdict

KINKS = [
    "a = leaf [0, 1]; b = relu a", "a = leaf [0, 1]; b = relu6 a", "a = leaf [6, 1]; b = relu6 a",
    "a = leaf [1, 3]; b = hardtanh a", "a = leaf [3, 1]; b = hardsigmoid a", "a = leaf [-3, 1]; b = hardswish a",
    "a = leaf [0, 1]; b = abs a", "a = leaf [0.5, 1]; b = softshrink a lambd=0.5", "a = leaf [0, 2]; b = softsign a",
    "a = leaf [1, 2]; b = threshold a threshold=1.0 value=0.5", "a = leaf [0, 2]; b = elu a alpha=0.5",
    "a = leaf [1, 2]; c = leaf [1, 3]; b = maximum a c", "a = leaf [1, 2]; c = leaf [2, 2]; b = fmin a c",
    "a = leaf [1, 1]; b = sort a dim=0 descending=False", "a = leaf [2, 2]; b = cummax a dim=0",
    "a = leaf [2, 2]; b = amax a dim=(0,) keepdim=True",
    "a = leaf [1, 0]; b = vector_norm a ord=3 dim=(0,) keepdim=True",
    "a = leaf [1, 0]; b = sqrt a", "a = leaf [0, 1]; b = pow_scalar a exponent=0.5", "a = leaf [1, 2]; b = floor a",
    "a = leaf [1, 2]; c = leaf [2.5, 1]; b = huber_loss a c reduction='none' delta=1.5",
]  # fmt: skip
NO_NUMBERS = [
    "abs a", "relu a", "exp a", "sqrt a", "sign a", "sigmoid a", "maximum a c", "minimum a c", "fmax a c",
    "clip a min=-1 max=1", "where a c mask=(True, False)", "sort a dim=0 descending=False",
    "amax a dim=(0,) keepdim=True", "max a",
    "cumulative_sum a dim=0", "cummax a dim=0", "cumulative_prod a dim=0", "softmax a dim=0", "multiply a c",
    "divide c a",
    "leaky_relu a slope=0.01", "hardtanh a", "gelu a", "std a dim=(0,) keepdim=True correction=0",
    "l1_loss a c reduction='none'", "topk a k=1 dim=0 largest=True",
    "logsumexp a dim=(0,) keepdim=True", "prod a", "lerp a c c", "floor a",
]  # fmt: skip


CALL = "s = sum b dim=(0,) keepdim=False; backward s"
CALLS = dict.fromkeys(("max a", "prod a"), "backward b")


def plain(text: str) -> Judgement:
    """The judgement on PyTorch's unchanged observation of a program."""
    program = parse(text, VOCABULARY)
    return judged(program, run(program, TORCH), TORCH.capabilities)


@pytest.mark.parametrize("text", KINKS)
def test_the_gradient_at_a_kink_is_unspecified(text: str) -> None:
    text = f"{text}; s = sum b dim=(0,) keepdim=False; backward s"
    judgement = plain(text)
    assert (judgement.violation, judgement.unspecified) == (None, True)
    assert verdict(text, gradient(lambda value: value + 1)) is None


@pytest.mark.parametrize("number", ["nan", "inf", "-inf"])
@pytest.mark.parametrize("op", NO_NUMBERS)
def test_the_result_of_an_op_on_nan_or_infinity_is_unspecified(op: str, number: str) -> None:
    text = f"a = leaf [{number}, 2]; c = leaf [1, 3]; b = {op}; {CALLS.get(op, CALL)}"
    judgement = plain(text)
    assert (judgement.violation, judgement.unspecified) == (None, True)


def test_the_gradient_for_a_cotangent_that_is_no_number_is_unspecified() -> None:
    judgement = plain("a = leaf [-1, 1]; b = relu a; backward b with [nan, 1]")
    assert (judgement.violation, judgement.unspecified) == (None, True)
    leaf = "a = leaf [1, 2]; backward a with [inf, 1]"
    assert not plain(leaf).unspecified


def test_values_that_do_not_depend_on_the_kink_are_judged() -> None:
    beside = "a = leaf [0, 1]; b = relu a; backward b with [1, 1]; c = leaf [1, 2]; d = exp c; backward d with [1, 1]"
    assert plain(beside).violation is None
    violation = verdict(beside, gradient(lambda value: value + 1), of="c")
    assert violation is not None and violation.rule == "gradients/op"


@pytest.mark.parametrize("text", [KINKS[1], KINKS[6], "a = leaf [nan, 1]; b = relu a"])
def test_a_graph_is_freed_at_a_kink_too(text: str) -> None:
    """The second call has to raise, whatever gradients the first one gave."""
    text = f"{text}; backward b with [1, 1]; backward b with [1, 1]"
    assert {"lifetime/same-root-raises"} <= {*plain(text).exercised}
    violation = verdict(text, lambda observed, _: replace(observed, outcome=Returned(())))
    assert violation is not None and violation.rule == "lifetime/same-root-raises"


def test_gradients_that_a_kink_left_are_added_to() -> None:
    text = "a = leaf [0, 1]; b = relu a; backward b with [1, 1]; c = exp a; backward c with [1, 1]"
    assert plain(text).violation is None
    violation = verdict(text, gradient(lambda value: value * 2))
    assert violation is not None and violation.at == 4


@pytest.mark.parametrize(
    "text",
    [
        "a = leaf [9, 20]; b = exp a", "a = leaf [52.1]; b = tan a", "a = leaf [0.95]; b = asin a",
        "a = leaf [0.05]; b = log a", "a = leaf [7, 8]; b = pow_integer a exponent=3",
        "a = leaf [0.05]; b = reciprocal a",
    ],
)  # fmt: skip
def test_an_op_is_judged_where_it_is_smooth_outside_the_drawn_domain(text: str) -> None:
    text = f"{text}; s = sum b dim=(0,) keepdim=False; backward s"
    judgement = plain(text)
    assert (judgement.violation, judgement.unspecified) == (None, False)
    violation = verdict(text, gradient(lambda value: value * 1.5))
    assert violation is not None and violation.rule == "gradients/graph"


@pytest.mark.parametrize("number", ["nan", "inf", "-inf"])
@pytest.mark.parametrize(
    "action", ["clip_grad a norm 1.0", "clip_grad a value 1.0", "step a sgd lr=0.5", "step a adam"]
)
def test_what_a_gradient_that_is_no_number_does_to_a_parameter_is_unspecified(action: str, number: str) -> None:
    text = f"a = leaf [1, 2]; backward a with [{number}, 1]; {action}; b = exp a"
    judgement = plain(text)
    assert (judgement.violation, judgement.unspecified) == (None, True)


def test_a_gradient_that_was_written_outside_a_domain_is_not_clipped_by_a_rule() -> None:
    """Whether the second call adds in place, and so makes an element of d negative, is left to the framework."""
    text = "a = leaf [1, 2]; backward a with [-2, 1]; d = held a; backward a with [1, 1]; no_grad: write d sqrt_; "
    judgement = plain(f"{text}clip_grad a norm 1.0")
    assert (judgement.violation, judgement.unspecified) == (None, True)


def test_the_domains_of_a_drawn_program_are_not_checked_again() -> None:
    """A drawn program is inside the domains by construction; checking again would cost time in every run."""
    program, observation = tampered("a = leaf [1, 2]; b = relu a; backward b with [1, 1]", lambda observed, _: observed)
    drawn = Reference()
    for at, step in enumerate(program):
        drawn.add(step, program.mode(at))
    assert not drawn.is_outside_domains
    assert not Reference(program).is_outside_domains
    assert Reference(parse("a = leaf [0, 2]; b = relu a", VOCABULARY)).is_outside_domains
    assert np.isfinite(observation[1].outcome.values[0].value).all()  # type: ignore[union-attr]


def test_a_program_that_a_strategy_drew_outside_a_domain_is_no_failure() -> None:
    """PyTorch rounds -0.25 to -0.0, and the angle of (-0.0, -0.0) is -pi; the reference's zero has no sign."""
    program = parse("a = leaf [1, -0.25]; b = round a; c = atan2 b b; backward c with [1, 2]", VOCABULARY)
    drawn = Reference()
    for at, step in enumerate(program):
        drawn.add(step, program.mode(at))
    check = Check(InProcess(TORCH), rule="gradients/same-argument")
    check(Drawn(program, drawn))
    assert check.programs == 1


def test_an_op_of_one_value_twice_has_to_fit_it() -> None:
    draft = sampling(1, "float64")
    value = draft.apply("round", [draft.leaf(value=Literal((1.0, -0.25), (2,), "float64"))])[0]
    names = ("multiply", "atan2", "hypot", "divide")
    assert [name for name in names if draft.ops.fits(name, (value, value))] == ["multiply"]


@given(drawn=same_arguments())
def test_an_op_of_one_value_twice_is_drawn_inside_its_domain(drawn: Drawn) -> None:
    assert drawn.program.stateful or not Reference(drawn.program).is_outside_domains
