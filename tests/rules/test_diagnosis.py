"""Diagnoses: a gradient that a known fault would give is attributed to that fault."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autograd_conformance.checking.check import first_violation
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.capabilities import PYTORCH, Traits
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Backward, Program, Ref
from autograd_conformance.programs.observations import Gradient, Returned, StepObservation
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.diagnosis.diagnosis import diagnose
from autograd_conformance.rules.diagnosis.kinds import DiagnosisKind
from evaluation.mutants.optimizers import GroupsIgnored
from tests.rules.judge.tampering import Tamper, holds, value, verdict

A = "a = leaf [1, 2]"
H = "a = leaf 3; b = multiply a a; c = negative b"
STEPPED = f"{A}; b = square a; backward b with [1, 1] retain=True; step a sgd lr=0.25; backward b with [1, 1]"
REFUSED = f"{A}; b, c = split a sizes=(1,1) dim=0; backward b with 3; backward c with [1]"
VIEWED = f"{A}; c = leaf [3, 4] const; write c copy_ a; v = select c dim=0 index=0; write v mul_scalar_ scalar=5.0"
NO_GRAD = f"{A}; no_grad: b = square a; c = multiply a b; backward c with [1, 2]"


def holding(*numbers: float) -> Tamper:
    """The call returned, and the leaf holds these numbers."""
    made = np.array(numbers if len(numbers) > 1 else numbers[0])

    def tamper(observed: StepObservation, leaf: Ref) -> StepObservation:
        held = Gradient(made, "float64", 99)
        return replace(observed, outcome=Returned(), gradients={**observed.gradients, leaf: held})

    return tamper


def halved(observed: StepObservation, leaf: Ref) -> StepObservation:
    """The first result of the functional form is halved."""
    assert isinstance(observed.outcome, Returned)
    first, *others = observed.outcome.values
    assert first is not None
    return replace(observed, outcome=Returned((replace(first, value=first.value / 2), *others)))


E = float(np.e)
DIAGNOSES: list[tuple[str, Tamper, str, str]] = [
    (
        f"{A}; b = multiply a a; no_grad: write a mul_scalar_ scalar=3.0; backward b with [1, 1]",
        holding(6, 12),
        "writes/error-or-recorded",
        "at the values after the write of line 3",
    ),
    (
        f"{A}; b = exp a; write b mul_scalar_ scalar=3.0; backward b with [1, 1]",
        holding(9 * E, 9 * E * E),
        "writes/error-or-recorded",
        "at the values after the write of line 3",
    ),
    (STEPPED, holding(3, 6), "writes/error-or-recorded", "at the values after the write of line 4"),
    (STEPPED, holding(2, 4), "writes/error-or-recorded", "the gradient held before was overwritten"),
    (
        f"{A}; b = square a; backward b with [1, 1]; c = exp a; backward c with [1, 1]",
        holding(4 + E, 8 + E * E),
        "accumulation/adds",
        "what was held is added twice",
    ),
    (
        f"{A}; c = leaf [3, 4] const; write c mul_ a; backward c with [1, 1]",
        holding(0, 0),
        "writes/recorded",
        "The values written on line 3 got no gradient.",
    ),
    (
        f"{A}; b = negative a; write b mul_scalar_ scalar=3.0; backward b with [1, 2]",
        holding(-1, -2),
        "writes/recorded",
        "It is the gradient without the write on line 3",
    ),
    (
        f"{A}; b = leaf [3, 4]; c = negative a; write c copy_ b; backward c with [1, 2]",
        holding(-1, -2),
        "writes/recorded",
        "The values overwritten on line 4 got the gradient, too.",
    ),
    (
        f"{A}; b = take a index=(0,0,1) dim=0; backward b with [1, 2, 3]",
        holding(2, 3),
        "gradients/op",
        "only the last of these counts",
    ),
    (
        f"{A}; b = take a index=(0,0,1) dim=0; c = negative b; backward c with [1, 2, 3]",
        holding(-1, -3),
        "gradients/graph",
        "only the first of these counts",
    ),
    (
        f"{A}; b = square a; c = grad b wrt a with [1, 1] create=True; d = multiply c a; backward d with [1, 1]",
        holding(2, 4),
        "higher/op",
        "A part of the gradient that line 3 computed is a constant",
    ),
    (f"{VIEWED}; backward c with [1, 1]", holding(1, 1), "views/history", "without the write on line 5"),
    (f"{VIEWED}; backward c with [1, 1]", holding(0, 1), "views/history", "through a view got no gradient"),
    (NO_GRAD, holding(3, 24), "modes/constant", "values computed under no_grad passed it on"),
    (
        "a = leaf [1, 2]; b = exp a; detach_ b; c = multiply b a; backward c with [1, 2]",
        holding(2 * E, 6 * E * E),
        "detach/in-place",
        "with the detaching in place left out",
    ),
    (f"{H}; k = hook b scale 2.0; backward c", holding(-6), "hooks/result", "result of the hook of line 4 was ignored"),
    (f"{H}; k = hook b scale 2.0; backward c", holding(-24), "hooks/result", "The hook of line 4 was applied twice."),
    (
        f"{H}; k = hook b scale 2.0; l = hook b replace 3.0; backward c",
        holding(36),
        "hooks/result",
        "called in the opposite order",
    ),
    (
        f"{H}; k = hook a scale 2.0; backward c retain=True; backward c",
        holding(-36),
        "hooks/result",
        "applied to its leaf's whole gradient",
    ),
    ("a = leaf 3; k = hook a observe; backward a", holds(None), "hooks/result", "The hook of line 2 was called with"),
    (f"{H}; k = hook b scale 2.0; unhook k; backward c", holding(-12), "hooks/removed", "although it had been removed"),
    (f"{H}; k = hook b scale 2.0; g = grad c wrt a", halved, "hooks/result", "the hook of line 4 was ignored"),
    (
        "a = leaf 3; b = multiply a a; c = multiply b b; backward c retain=True; backward c",
        holding(108 + 216),
        "gradients/graph",
        "kept the gradients of earlier calls",
    ),
    (
        "a = leaf 3; b = multiply a a; c = negative a; backward b with 2; zero a; backward c with 5",
        holding(12 - 5),
        "gradients/graph",
        "kept the gradients of earlier calls",  # of another graph
    ),
    (
        "a = leaf [1, 2]; b = negative a; c = add b b; backward c with [1, 1]",
        holding(-3, -3),
        "gradients/fan-out",
        "passed on what it had so far at each contribution",
    ),
    (
        "a = leaf [1, 2]; b = exp a; c = sin b; d = negative b; e = add c d; backward e with [3, 4]",
        holding(*(x * y for x, y in zip((3, 4), (2 * E * np.cos(E) - E, 2 * E**2 * np.cos(E**2) - E**2)))),
        "gradients/fan-out",
        "passed on what it had so far at each contribution",
    ),
    (
        "a = leaf [1, 2]; b = exp a; c = sin b; d = negative b; e = add c d; backward e with [1, 1]",
        holding(E * np.cos(E) - 2 * E, E**2 * np.cos(E**2) - 2 * E**2),
        "gradients/fan-out",
        "passed on what it had so far at each contribution",
    ),
    (
        "a = leaf [1, 2]; b = multiply a a; c = multiply b b; d = multiply c c; backward d with [1, 1]",
        holding(8 * 2.25, 1024 * 2.25),
        "gradients/fan-out",
        "passed on what it had so far at each contribution",  # and begins at 0 again for the next op
    ),
    (f"{A}; b = square a; g = grad b wrt a with [2, 2]", halved, "functional/value", "for a cotangent of ones"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "tamper", "rule", "diagnosis"), DIAGNOSES)
def test_a_known_fault_is_named(text: str, tamper: Tamper, rule: str, diagnosis: str):
    found = verdict(text, tamper)
    assert found is not None
    assert (found.rule, diagnosis in str(found.diagnosis)) == (rule, True), found.diagnosis


@pytest.mark.parametrize("text", [f"{H}; k = hook b scale 2.0; backward c", NO_GRAD, STEPPED, REFUSED])
def test_gradients_that_no_known_fault_gives_are_not_explained(text: str):
    found = verdict(text, holding(0.123) if text.startswith(H) else holding(0.123, 4.5))
    assert found is not None
    assert found.diagnosis is None


def test_a_fault_has_to_explain_every_leaf():
    text = "a = leaf 3; b = leaf 5; c = multiply a b; k = hook c scale 2.0; backward c"
    found = verdict(text, holding(5))  # as if the hook were ignored; but b's gradient is right
    assert found is not None
    assert found.diagnosis is None


def test_a_gradient_of_zeros_is_not_put_down_to_a_fault_that_would_give_zeros_by_chance():
    """The rows of a softmax have a constant sum: the gradient for a cotangent of ones is zero."""
    found = verdict(f"{A}; b = softmax a dim=0; backward b with [0, 1]", holding(0, 0))
    assert found is not None
    assert found.diagnosis is None


def test_zeros_with_which_leaves_begin_are_no_gradient_that_a_leaf_held():
    *computing, call = parse("a = leaf 3; b = square a; backward b", VOCABULARY)
    assert isinstance(call, Backward)
    zeros = {Ref(0): np.zeros(())}
    held, begun = (
        diagnose(Reference(Program(tuple(computing)), traits), call, Ref(0), zeros, zeros, alone=True)
        for traits in (PYTORCH, Traits(begins_with_zeros=True))
    )
    assert held is not None
    assert held.kind is DiagnosisKind.NOTHING_ADDED
    assert begun is None


TWICE_BY_DIFFERENCE = (
    "a = leaf [1, 2]; e = leaf [3, 1]; b = subtract a e; backward b with [1, 0]; backward b with [0, 1]"
)


@pytest.mark.parametrize(
    ("of_second", "kind"),
    [
        ([-2.0, -1.0], DiagnosisKind.GRADIENTS_KEPT),  # of e's negative, which the difference is the sum with
        ([-1.0, -2.0], None),
    ],
)
def test_a_value_inside_of_an_op_may_keep_its_gradient(of_second: list[float], kind: DiagnosisKind | None):
    program = parse(TWICE_BY_DIFFERENCE, VOCABULARY)
    held = {Ref(0): np.array([1.0, 0.0]), Ref(1): np.array([-1.0, 0.0])}
    now = {Ref(0): np.array([1.0, 1.0]), Ref(1): np.array(of_second)}
    call = program[-1]
    assert isinstance(call, Backward)
    found = diagnose(Reference(program), call, Ref(1), held, now)
    assert (None if found is None else found.kind) is kind


def test_entries_of_one_op_may_have_different_numbers_of_operands():
    program = parse(
        "a = leaf [1, 2]; b = stack a a dim=0; c = stack a a a dim=0; backward c with [[1, 2], [3, 4], [5, 6]]; "
        "backward b with [[1, 0], [0, 1]]",
        VOCABULARY,
    )
    call = program[-1]
    assert isinstance(call, Backward)
    held, now = {Ref(0): np.array([9.0, 12.0])}, {Ref(0): np.array([17.0, 11.0])}
    assert diagnose(Reference(program), call, Ref(0), held, now) is None


GROUPED = "a = leaf [1, 2, 3]; backward a with [1, 2, 3]; step a {optimizer} lr=0.125 groups=((1,(('lr',0.25),)),)"


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_step_by_the_settings_of_the_optimizer_ignores_those_of_the_group(optimizer: str):
    program, target = parse(GROUPED.format(optimizer=optimizer), VOCABULARY), InProcess(GroupsIgnored())
    found = first_violation(program, target.observe(program), target)
    assert found is not None
    assert found.diagnosis is not None
    assert (found.rule, found.diagnosis.kind) == ("optimizers/groups", DiagnosisKind.GROUP_IGNORED)


def test_a_leaf_of_a_group_that_moves_otherwise_has_no_such_diagnosis():
    moved = value(value=np.array([0.5, 1.5, 2.5]))
    found = verdict(GROUPED.format(optimizer="adam"), moved)
    assert found is not None
    assert (found.rule, found.diagnosis) == ("optimizers/groups", None)
