"""The judge: one place in an observation of PyTorch is changed, and the judge names rule, line and fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Ref
from autograd_conformance.programs.observations import Gradient, Kind, Returned, Skipped, StepObservation
from autograd_conformance.rules.catalogue import RULES
from tests.rules.judge.tampering import (
    BUG,
    FREED,
    TORCH,
    Tamper,
    does,
    gradient,
    holds,
    judged,
    one,
    tampered,
    to,
    value,
    verdict,
)

# -- gradients of another value ----------------------------------------------------------------------------------------

UNKNOWN = "raised an error that the adapter's `classify` does not know"
BARE = "raised IndexError: list index out of range"
SQUARE = "a = leaf 3; b = multiply a a; backward b"
CUBE = "a = leaf 2; b = multiply a a; c = multiply a b; backward c"
TWICE = "a = leaf 3; b = multiply a a; backward b retain=True; backward b"
ROOTS = "a = leaf 3; b = sin a; c = exp a; backward b, c"
WEIGHTED = "a = leaf [1, 2]; b = multiply a a; backward b with [3, -1]"
HALVES = (
    "a = leaf [1, 2, 3]; p, q = split a sizes=(1, 2) dim=0; s = sum q dim=(0,) keepdim=False; r = add p s; backward r"
)
DETACHED = "a = leaf 2; h = multiply a a; d = detach h; b = multiply a d; backward b"
MATRIX = "a = leaf [[1, 2], [3, 4]]; b = matmul a a; backward b with [[1, 0], [2, 0]]"
TURNED = "a = leaf [[1, 2], [3, 4]]; b = negative a; c = matmul b b; backward c with [[1, 0], [2, 0]]"

CLEARED = "a = leaf 3; b = multiply a a; backward b with 1 retain=True; zero a; backward b with 2"

WRONG = [
    (CLEARED, to(18), "gradients/graph", "kept the gradients"),
    (SQUARE, to(12), "gradients/op", "added twice"),
    (SQUARE, to(-6), "gradients/op", "subtracted"),
    (SQUARE, to(3), "gradients/same-argument", "only for its first place"),
    (SQUARE, to(7), "gradients/op", None),
    (SQUARE, to(6.000001), "gradients/op", None),
    (SQUARE, to(np.nan), "gradients/op", None),
    (TWICE, to(6), "accumulation/adds", "overwritten"),
    (TWICE, to(18), "accumulation/adds", "added twice"),
    (TWICE, to(0), "accumulation/adds", "subtracted"),
    (CUBE, to(24), "accumulation/first", "added twice"),
    (CUBE, to(-12), "accumulation/first", "subtracted"),
    (CUBE, to(4), "gradients/fan-out", "only the first contribution"),
    (CUBE, to(8), "gradients/same-argument", "only for its first place"),
    (CUBE, to(5), "gradients/graph", None),
    (CUBE, to(0), "gradients/graph", None),
    (HALVES, to(0, 0, 0), "gradients/graph", None),
    (ROOTS, to(np.cos(3)), "gradients/several-roots", "root number 1 alone"),
    (ROOTS, to(np.exp(3)), "gradients/several-roots", "root number 2 alone"),
    (WEIGHTED, to(2, 4), "gradients/cotangent", "the one given was ignored"),
    (HALVES, to(1, 0, 0), "gradients/several-results", "result number 1"),
    (HALVES, to(0, 1, 1), "gradients/several-results", "result number 2"),
    (DETACHED, to(12), "detach/blocks", "the detach left out"),
    (MATRIX, np.transpose, "gradients/op", "transpose"),
    (TURNED, np.transpose, "gradients/graph", "transpose"),
]


@pytest.mark.parametrize(("text", "change", "rule", "diagnosis"), WRONG)
def test_a_wrong_gradient_is_named(text: str, change: Callable, rule: str, diagnosis: str | None):
    found = verdict(text, gradient(change))
    assert found is not None
    assert (found.rule, found.at, found.subject) == (rule, len(parse(text)) - 1, Ref(0))
    assert found.observed_text() == "returned with another gradient"
    assert (found.op is not None) == (rule == "gradients/op")
    assert found.diagnosis is None if diagnosis is None else diagnosis in str(found.diagnosis)
    assert found.got is not None
    assert found.want is not None
    assert found.bound is not None
    assert not (np.abs(found.got - found.want) <= found.bound).all()


def test_rounding_in_the_last_digits_is_no_violation():
    assert verdict(SQUARE, gradient(lambda g: g * (1 + 4e-16))) is None
    assert verdict(SQUARE.replace("leaf", "leaf f32"), gradient(lambda g: g * np.float32(1 + 4e-7))) is None
    assert verdict(SQUARE.replace("leaf", "leaf f32"), gradient(lambda g: g * np.float32(1 + 1e-4))) is not None


# -- gradients that are there, or not, or not in form ------------------------------------------------------------------

OTHERS = "a = leaf 3; b = leaf 4; c = leaf 5 const; d = multiply a c; backward d"
KEPT = "a = leaf 3; b = multiply a a; c = leaf 4; d = exp c; backward b; backward d"
ZEROS = "a = leaf [1, 2]; b = multiply a a; backward b with [0, 0]"
PAIR = "a = leaf 3; b = leaf 3; c = add a b; backward c"
REFUSED = "a = leaf 2; b = multiply a a; requires b False"
"""A value that is no leaf, and that an instruction fails to make one: no rule says that it holds no gradient."""
EMPTY = "a = leaf (0,) []; b = exp a; backward b with (0,) []"

FORMS = [
    (SQUARE, "a", holds(None), "accumulation/first", "holds no gradient"),
    (TWICE, "a", holds(None), "accumulation/adds", "holds no gradient"),
    (EMPTY, "a", holds(None), None, ""),
    (ZEROS, "a", holds(None), None, ""),
    (ZEROS, "a", gradient(to(0, 1)), "gradients/op", "another gradient"),
    (SQUARE, "a", gradient(lambda g: g.reshape(1)), "gradients/form", "a gradient of shape (1,)"),
    (EMPTY, "a", gradient(lambda g: g.reshape(0, 3)), "gradients/form", "a gradient of shape (0, 3)"),
    (
        SQUARE,
        "a",
        lambda s, r: holds(replace(s.gradients[r], dtype="float32"))(s, r),
        "gradients/form",
        "a gradient of dtype float32",
    ),
    (OTHERS, "b", holds(one(0)), "accumulation/unreached", "received a gradient"),
    (f"{REFUSED}; backward b", "b", holds(one(1)), None, ""),
    (f"{REFUSED}; backward b with [1]", "b", holds(one(1)), None, ""),
    (f"{REFUSED}; backward b with [1]", "a", holds(one(1)), "errors/refusal-keeps-gradients", "another gradient"),
    (f"{REFUSED}; assign b a; backward b", "b", holds(one(3)), "accumulation/unreached", "gradient changed"),
    (OTHERS, "c", holds(one(3)), "accumulation/constant", "received a gradient"),
    (KEPT, "a", holds(None), "accumulation/unreached", "lost its gradient"),
    (KEPT, "a", gradient(to(6.000001)), "accumulation/unreached", "gradient changed"),
    (KEPT, "a", gradient(lambda g: g.reshape(1)), "accumulation/unreached", "gradient changed"),
    (
        "a = leaf 2; d = detach a; c = leaf 3; b = multiply c d; backward b",
        "a",
        holds(one(3)),
        "detach/blocks",
        "received",
    ),
    (
        PAIR,
        "b",
        lambda s, r: holds(s.gradients[Ref(0)])(s, r),
        "accumulation/own-object",
        "the gradients of a and b share memory",
    ),
    (PAIR, "b", holds(Gradient(np.array(1.0), "float64", None)), None, ""),
]


@pytest.mark.parametrize(("text", "of", "tamper", "rule", "observed"), FORMS)
def test_a_gradient_in_the_wrong_place_or_form_is_named(text: str, of: str, tamper: Tamper, rule: str, observed: str):
    found = verdict(text, tamper, of=of)
    assert (None if found is None else found.rule) == rule
    assert found is None or observed in found.observed_text()
    assert found is None or found.at == len(parse(text)) - 1


# -- other outcomes ----------------------------------------------------------------------------------------------------

GONE = "a = leaf 3; b = exp a; backward b; backward b"
VIEW_LEAF = "a = leaf [1, 2] const; b = expand_dims a dim=0; requires b True"
LINEAR = "a = leaf 3; b = negative a; backward b; backward b"

OUTCOMES = [
    (GONE, does(Returned()), "lifetime/same-root-raises", "returned"),
    (
        GONE,
        does(replace(BUG, kind=Kind.NO_GRAD)),
        "lifetime/same-root-raises",
        "raised: no grad (IndexError: list index out of range)",
    ),
    (
        GONE,
        does(BUG),
        "lifetime/same-root-raises",
        f"{UNKNOWN} (IndexError: list index out of range)",
    ),
    (GONE + " retain=True", does(Returned()), "lifetime/late-retain-raises", "returned"),
    (
        "a = leaf 3; b = exp a; backward b; c = sin b; backward c",
        does(Returned()),
        "lifetime/freed-subgraph-raises",
        "",
    ),
    (
        "a = leaf 3; b = exp a; backward b retain=True; backward b; backward b",
        does(Returned()),
        "lifetime/last-call-frees",
        "",
    ),
    (TWICE, does(FREED), "lifetime/retained-works", "raised: graph freed (RuntimeError: a second time)"),
    (SQUARE, does(FREED), "errors/legal-returns", "raised: graph freed (RuntimeError: a second time)"),
    (SQUARE, does(BUG), "errors/legal-returns", BARE),
    ("a = leaf 3; b = exp a; backward b; c = exp a; backward c", does(FREED), "lifetime/rebuilt", ""),
    ("a = leaf 3; b = exp a; c = sin a; backward b; backward c", does(FREED), "lifetime/independent", ""),
    ("a = leaf 3 const; backward a", does(Returned()), "errors/no-grad-root", "returned"),
    ("a = leaf 3; d = detach a; backward d", does(Returned()), "detach/root-raises", "returned"),
    ("a = leaf [1, 2]; b = exp a; backward b", does(Returned()), "errors/non-scalar-root", "returned"),
    ("a = leaf [1, 2]; b = exp a; backward b with [1]", does(Returned()), "errors/cotangent-shape", "returned"),
    ("a = leaf [1, 2]; b = exp a; backward b with [1]", does(FREED), "errors/cotangent-shape", "raised: graph freed"),
    ("a = leaf [1, 2]; b = exp a; backward b; backward b with [1, 1]", does(FREED), "errors/refusal-keeps-graph", ""),
    ("a = leaf [1, 2]; b = expand_dims a dim=0; write b sin_", does(Returned()), "writes/leaf-raises", "returned"),
    (f"{VIEW_LEAF}; write b sin_", does(Returned()), "writes/leaf-raises", "returned"),
    (f"{VIEW_LEAF}; c = expand_dims b dim=0; write c sin_", does(Returned()), "writes/leaf-raises", "returned"),
    (
        "a = leaf 3; b = exp a",
        does(BUG),
        "errors/legal-returns",
        BARE,
    ),
    (
        "a = leaf 3; zero a",
        does(BUG),
        "errors/legal-returns",
        BARE,
    ),
]


@pytest.mark.parametrize(("text", "tamper", "rule", "observed"), OUTCOMES)
def test_another_outcome_is_named(text: str, tamper: Tamper, rule: str, observed: str):
    found = verdict(text, tamper)
    assert found is not None
    assert (found.rule, found.at) == (rule, len(parse(text)) - 1)
    assert observed in found.observed_text()
    assert found.allowed


def test_allowed_outcomes_are_all_listed():
    found = verdict("a = leaf [1, 2] const; backward a with [1]", does(Returned()))
    refusals = {"raises: no grad": "errors/no-grad-root", "raises: cotangent shape": "errors/cotangent-shape"}
    assert found is not None
    assert dict(found.allowed_texts()) == refusals
    found = verdict(LINEAR, does(BUG))
    assert found is not None
    assert [text for text, _ in found.allowed_texts()] == ["returns", "raises: graph freed"]


def test_where_either_is_allowed_either_passes():
    assert verdict(LINEAR, does(FREED)) is verdict(LINEAR, does(Returned())) is None


# -- what an error may leave behind ------------------------------------------------------------------------------------

TORN = "a = leaf 3; b = exp a; c = leaf 2; d = multiply c c; e = add b d; backward b; backward e"
REFUSED = "a = leaf [1, 2]; b = exp a; backward b with [1, 1] retain=True; backward b"
REFUSED_FIRST = "a = leaf [1, 2]; b = exp a; backward b"

LEFT = [
    (TORN, "c", holds(None), None),
    (TORN, "c", holds(one(4)), None),
    (TORN, "c", holds(one(2)), "errors/atomic"),
    (TORN, "a", gradient(lambda g: 2 * g), None),
    (TORN, "a", gradient(lambda g: 1.5 * g), "errors/atomic"),
    (TORN, "a", holds(None), "errors/atomic"),
    (REFUSED, "a", gradient(lambda g: g), None),
    (REFUSED, "a", gradient(lambda g: 2 * g), "errors/refusal-keeps-gradients"),
    (REFUSED, "a", holds(None), "errors/refusal-keeps-gradients"),
    (REFUSED_FIRST, "a", holds(Gradient(np.zeros(2), "float64", 1)), "errors/refusal-keeps-gradients"),
]


@pytest.mark.parametrize(("text", "of", "tamper", "rule"), LEFT)
def test_the_effects_of_an_error_are_judged(text: str, of: str, tamper: Tamper, rule: str | None):
    found = verdict(text, tamper, of=of)
    assert (None if found is None else found.rule) == rule


# -- clearing ----------------------------------------------------------------------------------------------------------

CLEARED = "a = leaf 3; b = leaf 4; c = multiply a b; backward c; zero a"
ZEROED = CLEARED + " to zeros"
NEVER_HELD = "a = leaf 3; zero a to zeros"

CLEARINGS = [
    (CLEARED, "a", holds(one(0)), "accumulation/zero-to-none"),
    (CLEARED, "a", holds(one(4)), "accumulation/zero-to-none"),
    (CLEARED, "b", holds(None), "accumulation/zero-to-none"),
    (ZEROED, "a", holds(None), "accumulation/zero-to-zeros"),
    (ZEROED, "a", gradient(to(1e-30)), "accumulation/zero-to-zeros"),
    (ZEROED, "a", gradient(lambda g: g.reshape(1)), "accumulation/zero-to-zeros"),
    (ZEROED, "b", gradient(to(0)), "accumulation/zero-to-zeros"),
    (ZEROED, "a", gradient(to(-0.0)), None),
    (NEVER_HELD, "a", holds(one(0)), None),
    (NEVER_HELD, "a", holds(one(1)), "accumulation/zero-to-zeros"),
]


@pytest.mark.parametrize(("text", "of", "tamper", "rule"), CLEARINGS)
def test_clearing_is_judged(text: str, of: str, tamper: Tamper, rule: str | None):
    found = verdict(text, tamper, of=of)
    assert (None if found is None else (found.rule, found.subject)) == (rule and (rule, Ref("ab".index(of))))


# -- values ------------------------------------------------------------------------------------------------------------

UNRECORDED = "a = leaf [1, 2]; no_grad: b = exp a; "

MADE = [
    ("a = leaf [1, 2]; b = exp a", value(value=np.array([1.0, 2.0])), "gradients/forward", "another value"),
    ("a = leaf [1, 2]; b = exp a", value(value=np.exp([1.0, 2.0]) * (1 + 1e-9)), "gradients/forward", "another value"),
    ("a = leaf [1, 2]; b = exp a", value(value=np.exp([1.0, 2.0]) * (1 + 4e-16)), None, ""),
    ("a = leaf [1, 2]; b = exp a", value(value=np.exp([[1.0, 2.0]])), "gradients/forward", "shape (1, 2)"),
    ("a = leaf [1, 2]; b = exp a", value(requires_grad=False), "gradients/requires-grad", "requires no grad"),
    ("a = leaf [1, 2]; b = exp a", value(requires_grad=None), None, ""),
    ("a = leaf [1, 2] const; b = exp a", value(requires_grad=True), "gradients/requires-grad", "requires grad"),
    ("a = leaf [1, 2]; p, q = unstack a dim=0", value(value=np.ones(())), "gradients/forward", "another value"),
    (UNRECORDED + "c = exp a", value(requires_grad=False), "modes/restored", "requires no grad"),
    (UNRECORDED + "c = leaf [1]", value(requires_grad=False), "modes/restored", "requires no grad"),
    (UNRECORDED + "no_grad: c = leaf [1]", value(requires_grad=False), "gradients/requires-grad", "requires no grad"),
    ("a = leaf [1, 2]; d = detach a", value(value=np.array([1.0, 3.0])), "detach/values", "another value"),
    ("a = leaf [1, 2]; d = detach a", value(requires_grad=True), "detach/values", "requires grad"),
    ("a = leaf [1, 2]", value(value=np.array([1.0, 2.5])), "gradients/forward", "another value"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "tamper", "rule", "observed"), MADE)
def test_a_wrong_value_is_named(text: str, tamper: Tamper, rule: str | None, observed: str):
    found = verdict(text, tamper)
    assert (None if found is None else found.rule) == rule
    assert found is None or observed in found.observed_text()


# -- claims, and where judging ends ------------------------------------------------------------------------------------


LIES: list[tuple[str, Tamper, str]] = [
    *((text, gradient(change), "a") for text, change, _, _ in WRONG),
    *((text, tamper, of) for text, of, tamper, _, _ in FORMS),
    *((text, tamper, "a") for text, tamper, _, _ in OUTCOMES + MADE),
    *((text, tamper, of) for text, of, tamper, _ in LEFT + CLEARINGS),
]


@pytest.mark.parametrize(("text", "tamper", "of"), LIES)
def test_a_rule_is_judged_only_where_all_that_it_needs_is_claimed(text: str, tamper: Tamper, of: str):
    program, observation = tampered(text, tamper, of=of)
    for claims in [frozenset(), *(frozenset(Capability) - {need} for need in Capability)]:
        found = judged(program, observation, claims).violation
        assert found is None or RULES[found.rule].needs <= claims


def test_the_first_violation_counts():
    program, observation = tampered(TWICE, gradient(to(5)), at=2)
    found = judged(program, (*observation[:3], replace(observation[3], outcome=BUG))).violation
    assert found is not None
    assert found.at == 2


def test_a_call_puts_only_the_rule_that_it_breaks_to_the_test():
    program, observation = tampered(TWICE, gradient(to(5)), at=2)
    found = judged(program, observation)
    assert found.violation is not None
    forward = judged(parse("a = leaf 3; b = multiply a a", VOCABULARY), observation[:2]).exercised
    assert found.exercised == {**forward, found.violation.rule: 1}


def test_a_call_that_may_raise_and_does_shows_nothing_about_gradients():
    program = parse("a = leaf 3; b = add a a; backward b; backward b", VOCABULARY)
    both = judged(program, run(program, TORCH)).exercised
    assert both["accumulation/adds"] and both["gradients/same-argument"] == 2
    freed = judged(*tampered("a = leaf 3; b = add a a; backward b; backward b", does(FREED))).exercised
    assert "accumulation/adds" not in freed and freed["gradients/same-argument"] == 1


def test_a_skipped_instruction_ends_the_judging():
    program = parse("a = leaf 3; b = exp a; backward b; backward b; zero a", VOCABULARY)
    observed = run(program, TORCH)
    judgement = judged(program, (*observed[:2], StepObservation(Skipped()), *observed[3:]))
    assert judgement.violation is None
    assert "lifetime/same-root-raises" not in judgement.exercised


@pytest.mark.parametrize("leaves", ["x = leaf [1, 2]; y = leaf [3, 4]", "y = leaf [3, 4]; x = leaf [1, 2]"])
@pytest.mark.parametrize("operands", ["x y", "y x"])
def test_a_gradient_that_cannot_be_added_to_raises_during_traversal(leaves: str, operands: str):
    expanded = "s = sum x dim=(0,) keepdim=False; g = grad s wrt x; assign x g"
    program = parse(f"{leaves}; {expanded}; z = multiply {operands}; backward z with [1, 1]", VOCABULARY)
    observed = run(program, TORCH)
    assert observed[-1].outcome.kind is Kind.OVERLAP  # type: ignore[union-attr]
    assert judged(program, observed).violation is None  # the other leaf holds nothing, or all of what it gets


STALE = "a = leaf [1, 2]; b = square a; {on}; backward b with [1, 1] retain=True; step a sgd lr=0.125 fused=True"


@pytest.mark.parametrize("on", ["h = hook a observe", "h = hook b scale 2", "retain b"])
def test_a_stale_gradient_breaks_the_rule_about_writes_everywhere(on: str):
    """A fused step does not count as a write in PyTorch."""
    program = parse(f"{STALE.format(on=on)}; backward b with [1, 1]", VOCABULARY)
    found = judged(program, run(program, TORCH)).violation
    assert found is not None
    assert (found.rule, found.at) == ("writes/error-or-recorded", len(program) - 1)
