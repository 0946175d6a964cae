"""The parts of a failure: notes, the nearest variation that passes, votes, and a script that shows the failure in
isolation.

The faults of the frameworks here are source code (`evaluation.mutants.printed`). A failure's script can therefore run
in a separate process, where it must show what the suite observed.
"""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
import torch

from autograd_conformance.failures.case import Case
from autograd_conformance.failures.evidence.votes import votes
from autograd_conformance.failures.script import script
from autograd_conformance.failures.variations.nearest import nearest
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Ref
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.explanation.context import context_of
from autograd_conformance.rules.explanation.explain import explain
from autograd_conformance.rules.violations.observed import OtherGradient
from autograd_conformance.rules.violations.shared import Place
from autograd_conformance.rules.violations.violation import Violation
from evaluation.mutants.printed import (
    FREES,
    HALVES,
    HOLES,
    IGNORES,
    KEEPS,
    NARROW,
    OVERWRITES,
    TEARS,
    Attached,
    Bent,
    Printed,
    Stopped,
    violation_of,
)


def remarks(text: str, framework: Torch) -> list[str]:
    """The notes on a failure, each after the number of its line."""
    program, observation, violation = violation_of(text, framework)
    return [
        f"{n}: {t}"
        for n, t in explain(context_of(program, observation, Reference(program), framework.capabilities, violation))
    ]


EACH = """
import contextlib, io, json, sys
def printed(code):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            exec(code, {})
        except Exception as error:
            print(f"{type(error).__name__}: {error}")
    return out.getvalue()
print(json.dumps([printed(code) for code in json.load(sys.stdin)]))
"""


def outputs(*failures: tuple[str, Torch]) -> list[str]:
    """The output of failures' scripts in a process without the suite, or the error that ends them."""
    codes = []
    for text, framework in failures:
        program, observation, violation = violation_of(text, framework)
        codes.append(script(Case(program, observation, violation, InProcess(framework))))
    done = subprocess.run(
        [sys.executable, "-I", "-c", EACH], input=json.dumps(codes), capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


# -- remarks and scripts -----------------------------------------------------------------------------------------------

AGAIN = "a = leaf 3; b = multiply a a; c = negative b; backward c; backward c retain=True"
HELD = "a = leaf [1, 2]; b = multiply a a; backward b with [1, 1] retain=True; backward b with [3, 1]"
FAILED = "a = leaf 3; b = exp a; c = leaf 2; d = multiply c c; e = add b d; backward b; backward e"
REFUSED = "a = leaf [1, 2]; b = exp a; backward b; backward b with [1, 1]; zero a; backward b with [1, 1]"
RETAINED = "a = leaf 3; b = multiply a a; backward b retain=True; backward b"
DERIVATIVE = "a = leaf f32 [1, 2]; b = exp a; c = multiply b b; backward c with f32 [1, 1]"
FORWARD = "a = leaf [0, 1]; b = exp a"
DETACHED = "a = leaf 2; h = multiply a a; d = detach h; b = multiply a d; backward b"

STORIES = [
    (AGAIN, Printed(KEEPS), [
        "2: multiply saves values that its derivative needs.",
        "3: negative needs nothing saved.",
        "4: walks lines 2 and 3; it does not retain the graph, so the tensors that they saved are freed.",
        "5: has to walk line 2 again, but line 4 freed the tensors that it saved: it must raise. retain_graph=True"
        " keeps a graph, but it cannot bring a freed one back.",
    ], "returned, but it must raise: graph freed\n"),
    (HELD, Printed(OVERWRITES), [
        "3: leaves a's gradient at [2., 4.].",
        "4: reaches a through line 2 and contributes [6., 4.]; a held [2., 4.], so it has to hold [8., 8.], but it"
        " holds [6., 4.].",
    ], "a.grad is       tensor([6., 4.], dtype=torch.float64)\nit has to be  [8.0, 8.0]\n"),
    (RETAINED, Printed(FREES), [
        "2: multiply saves values that its derivative needs.",
        "3: walks line 2; retain_graph=True keeps the tensors that it saved.",
        "4: walks line 2; every earlier call retained the graph, so no tensor that it needs is freed: it must return.",
    ], "allowed on line 4: returns\nRuntimeError: Trying to backward through the graph a second time"),
    (FAILED, Printed(TEARS), [
        "2: exp saves values that its derivative needs.",
        "4: multiply saves values that its derivative needs.",
        "5: add needs nothing saved.",
        "6: walks line 2; it does not retain the graph, so the tensors that it saved are freed. It leaves a's gradient"
        " at 20.0855369232.",
        "7: raises, as it may. After an error, each leaf holds its old gradient or the complete new one, but a held"
        " 20.0855369232 and is left with 0.5.",
    ], "a.grad is       tensor(0.5000, dtype=torch.float64)\nbefore the call it was 20.085536923187668 and each leaf"),
    (REFUSED, Printed(TEARS), [
        "2: exp saves values that its derivative needs.",
        "3: raises, as it may. After an error, each leaf holds its old gradient, but a held none and is left with"
        " [0.5, 0.5].",
    ], "a.grad is       tensor([0.5000, 0.5000], dtype=torch.float64)\nbefore the call it was none"),
    (DERIVATIVE, Stopped(), [
        "4: reaches a through lines 2 and 3; a held no gradient, so it has to hold [ 14.7781121979, 109.1963000663],"
        " but it holds [0., 0.].",
    ], "a.grad is       tensor([0., 0.])\nit has to be  [14.7781"),
    (FORWARD, Bent(), [
        "2: by definition b is [1.          , 2.7182818285], but it is [1.         , 2.745601015].",
    ], "b is       tensor([1.0000, 2.7456], dtype=torch.float64, grad_fn=<ExpBackward0>)\nit has to be  [1.0, 2.7182"),
    (DETACHED, Attached(), [
        "3: c has the values of b and no history.",
        "5: reaches a through line 4; a held no gradient, so it has to hold 4, but it holds 12.",
    ], "a.grad is       tensor(12., dtype=torch.float64)\nit has to be  4.0"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "framework", "notes"), [story[:3] for story in STORIES])
def test_a_failure_is_explained(text: str, framework: Torch, notes: list[str]):
    assert remarks(text, framework) == notes


class LosesTheGraph(Torch):
    """The second call raises an error about shapes."""

    def reset(self) -> None:
        super().reset()
        self.called = False

    def backward(self, *args: object, **options: object) -> None:
        if self.called:
            torch.zeros(2).reshape(7)
        self.called = True
        super().backward(*args, **options)  # type: ignore[arg-type]


def test_where_a_call_may_raise_the_note_says_that_this_error_is_another():
    notes = remarks("a = leaf 3; b = negative a; backward b; backward b", LosesTheGraph())
    assert notes[-1] == (
        "4: walks line 2 again after line 3, which did not retain the graph. The framework decides what an op saves:"
        " the call may return or raise (graph freed), but it raises another error."
    )


def test_a_failure_is_shown():
    caught = "a = leaf [1, 2]; b = exp a; backward b; backward b with [1, 0] retain=True; backward b with [0, 1]"
    failures = [(text, framework) for text, framework, _, _ in STORIES] + [(caught, Printed(OVERWRITES))]
    expected = [story[3] for story in STORIES] + ["a.grad is       tensor([0.0000, 7.3891], dtype=torch.float64)"]
    for printed, start in zip(outputs(*failures), expected, strict=True):
        assert printed[: len(start)] == start


def test_without_a_dialect_there_is_no_script():
    framework = Printed(KEEPS)
    framework.dialect = None  # type: ignore[assignment]
    case = Case(*violation_of(AGAIN, framework), InProcess(framework))
    assert script(case) == ""


# -- the nearest variation ---------------------------------------------------------------------------------------------

WEIGHTED = "a = leaf [1, 2]; b = exp a; backward b with [3, 4]"

VARIATIONS = [
    (AGAIN, Printed(KEEPS), None),
    (HELD, Printed(OVERWRITES), None),
    (WEIGHTED, Printed(IGNORES), "passes with a cotangent of ones on line 3"),
    (WEIGHTED.replace("[1", "[0"), Printed(HOLES), "passes with ones for the zeros on line 1"),
    (WEIGHTED.replace("[", "f32 ["), Printed(NARROW), "passes in float64"),
    (DETACHED, Attached(), "passes without the detach on line 3"),
    (FORWARD, Bent(), None),  # that another op is right says nothing about the only one
    ("a = leaf 3; b = negative a; c = exp b; backward c", Printed(HALVES), None),
    (
        "a = leaf 3; b = exp a; c = negative b; backward c",
        Stopped(),
        "passes with negative in the place of exp on line 2",
    ),
]


@pytest.mark.parametrize(("text", "framework", "phrase"), VARIATIONS)
def test_the_nearest_variation_that_passes(text: str, framework: Torch, phrase: str | None):
    program, observation, violation = violation_of(text, framework)
    assert nearest(Case(program, observation, violation, InProcess(framework))) == phrase


# -- votes -------------------------------------------------------------------------------------------------------------

AGREE = "Finite differences of the framework's own forward pass agree with JAX: the gradient is wrong."


@pytest.mark.parametrize(
    ("text", "framework", "numbers"),
    [
        (
            WEIGHTED,
            Printed(IGNORES),
            ("[2.7182818285, 7.3890560989]", "[ 8.1548454854, 29.5562243957]", "[ 8.15484548"),
        ),
        (DETACHED, Attached(), ("12", "4", "4")),
    ],
)
def test_finite_differences_vote_against_a_wrong_gradient(text: str, framework: Torch, numbers: tuple[str, ...]):
    program, observation, violation = violation_of(text, framework)
    cast = votes(Case(program, observation, violation, InProcess(framework)))
    assert cast is not None
    assert cast.decision == AGREE
    assert (cast.framework, cast.reference) == numbers[:2]
    assert cast.finite_differences.startswith(numbers[2])


def test_no_vote_contradicts_that_the_gradient_held_before_was_overwritten():
    """The votes are about the contribution of the call, which is right."""
    program, observation, violation = violation_of(HELD, Printed(OVERWRITES))
    assert "the gradient held before was overwritten" in str(violation.diagnosis)
    assert votes(Case(program, observation, violation, InProcess(Printed(OVERWRITES)))) is None


def test_finite_differences_vote_for_a_gradient_of_another_forward_pass():
    program = parse("a = leaf 1; b = exp a; backward b", VOCABULARY)
    got, want = np.array(1.01 * np.exp(1.01)), np.array(np.exp(1.0))
    violation = Violation("gradients/op", 2, OtherGradient(Place.LEAF), (), Ref(0), got=got, want=want)
    cast = votes(Case(program, (), violation, InProcess(Bent())))
    assert cast is not None
    assert "the forward pass differs from the op's definition" in cast.decision


def test_a_reference_that_jax_does_not_confirm_is_the_suites_fault():
    program = parse("a = leaf 1; b = exp a; backward b", VOCABULARY)
    violation = Violation(
        "gradients/op", 2, OtherGradient(Place.LEAF), (), Ref(0), got=np.array(np.e), want=np.array(3.0)
    )
    cast = votes(Case(program, (), violation, InProcess(Torch())))
    assert cast is not None
    assert "this is the suite's fault" in cast.decision


@pytest.mark.parametrize(("bound", "is_at_fault"), [(1e-5, False), (1e-7, True)])
def test_rounding_of_cancelling_terms_is_no_fault(bound: float, is_at_fault: bool):
    program = parse("a = leaf 1; b = exp a; backward b", VOCABULARY)
    got, want = np.array(np.nan), np.array(np.e + 1e-8)
    place, bounded = OtherGradient(Place.LEAF), np.array(bound)
    violation = Violation("gradients/op", 2, place, (), Ref(0), got=got, want=want, bound=bounded)
    cast = votes(Case(program, (), violation, InProcess(Torch())))
    assert cast is not None
    assert ("this is the suite's fault" in cast.decision) == is_at_fault


def test_there_are_no_votes_where_no_gradient_is_compared():
    for text, framework in ((AGAIN, Printed(KEEPS)), (FORWARD, Bent())):
        assert votes(Case(*violation_of(text, framework), InProcess(framework))) is None
