"""Dtypes, strides and memory are compared wherever a tensor is observed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.formats.text import names, parse
from autograd_conformance.programs.language import Ref
from autograd_conformance.programs.observations import HookCall, Returned, StepObservation
from tests.rules.judge.tampering import CLAIMS, TORCH, Tamper, judged, tampered, value, verdict

A = "a = leaf f32 [[1, 2], [3, 4]]"
M = f"{A}; b = multiply a a"


def held(**changes: object) -> Tamper:
    """The gradient that a value holds has another form."""

    def tamper(observed: StepObservation, leaf: Ref) -> StepObservation:
        gradient = observed.gradients[leaf]
        assert gradient is not None
        return replace(observed, gradients={**observed.gradients, leaf: replace(gradient, **changes)})  # type: ignore[arg-type]

    return tamper


def shown(**changes: object) -> Tamper:
    """A value has another form after an instruction that reports all values."""
    return lambda observed, ref: replace(
        observed, values={**observed.values, ref: replace(observed.values[ref], **changes)}
    )  # type: ignore[arg-type]


def moved(**changes: object) -> Tamper:
    """The leaf that a step moved has another form."""

    def tamper(observed: StepObservation, leaf: Ref) -> StepObservation:
        assert isinstance(observed.outcome, Returned)
        (tensor,) = observed.outcome.values
        assert tensor is not None
        return replace(observed, outcome=Returned((replace(tensor, **changes),)))  # type: ignore[arg-type]

    return tamper


def hooked(change: Callable[[HookCall], HookCall]) -> Tamper:
    """The hooks were called with other arguments."""
    return lambda observed, leaf: replace(observed, fired=tuple(map(change, observed.fired)))


WIDE = {"dtype": "float64"}
GRAD = "with f32 [[1, 1], [1, 1]]"
ELSEWHERE = {"memory": -1}


@pytest.mark.parametrize(
    ("program", "tamper", "of", "rule"),
    [
        (A, value(**WIDE), "a", "gradients/forward"),
        (M, value(**WIDE), "b", "gradients/forward"),
        ("a = leaf f32 [1, 2]; b = astype_float64 a", value(dtype="float32"), "b", "gradients/forward"),
        (f"{A}; b = detach a", value(**WIDE), "b", "detach/values"),
        (f"{A}; backward a {GRAD}", held(**WIDE), "a", "gradients/form"),
        (f"{A}; b = leaf f32 3; backward a {GRAD}; backward b with f32 1", held(**WIDE), "a", "gradients/form"),
        (f"{M}; retain b; backward b {GRAD}", held(**WIDE), "b", "gradients/form"),
        (f"{A}; backward a {GRAD}; b = held a", value(**WIDE), "b", "gradients/forward"),
        (f"{A}; b = grad a wrt a {GRAD}", value(**WIDE), "b", "gradients/form"),
        (f"{A}; b = leaf f32 1; c = grad a wrt b {GRAD} materialize=True", value(**WIDE), "c", "gradients/form"),
        (f"{A}; b = leaf f32 [[1, 2], [3, 4]] const; assign a b", held(**WIDE), "a", "accumulation/assigned"),
        (f"{A}; backward a {GRAD}; zero a to zeros", held(**WIDE), "a", "accumulation/zero-to-zeros"),
        (f"{M}; backward a {GRAD}; retain b", held(**WIDE), "a", "hooks/retained"),
        (f"{A}; hook a observe; backward a {GRAD}", hooked(lambda h: replace(h, **WIDE)), "a", "hooks/called"),
        (f"{A}; hook a observe accumulated; backward a {GRAD}", hooked(lambda h: replace(h, **WIDE)), "a",
         "hooks/accumulated"),
        (f"{M}; write b mul_scalar_ scalar=2", shown(**WIDE), "b", "writes/value"),
        (f"{M}; detach_ b", shown(**WIDE), "b", "detach/in-place"),
        (f"{A}; backward a {GRAD}; step a sgd lr=0.5", moved(**WIDE), "a", "optimizers/formula"),
        (f"{A}; backward a {GRAD}; clip_grad a value 0.5", held(**WIDE), "a", "optimizers/clips"),
        (f"{A}; backward a {GRAD} create=True", held(strides=(1, 2)), "a", "accumulation/layout"),
        (f"{A}; backward a {GRAD}; backward a {GRAD}", held(strides=(1, 2)), "a", "accumulation/layout"),
    ],
)  # fmt: skip
def test_another_form_is_found(program: str, tamper: Tamper, of: str, rule: str) -> None:
    found = verdict(program, tamper, of=of)
    assert found is not None
    assert found.rule == rule


@pytest.mark.parametrize("step", ["step a sgd lr=0.5", "write a mul_scalar_ scalar=2", "detach_ a"])
def test_an_in_place_instruction_keeps_memory_shared(step: str) -> None:
    flag = " const" if step.startswith("write") else ""
    found = verdict(f"a = leaf [1, 2]{flag}; b = detach a; {step}", shown(**ELSEWHERE), of="a")
    assert found is not None
    assert found.rule == "views/shares"


LINEAR = "a = leaf [[1, 2]]; b = detach a; c = leaf [[3, 4]] const; d = nn_linear c a bias=False"


def test_a_module_keeps_memory_shared() -> None:
    found = verdict(LINEAR, shown(**ELSEWHERE), of="a")
    assert found is not None
    assert found.rule == "views/shares"


def test_a_result_may_use_the_memory_that_a_module_moved_its_parameter_from() -> None:
    def moves(observed: StepObservation, ref: Ref) -> StepObservation:
        before = observed.values[ref].memory
        return shown(**ELSEWHERE)(value(memory=before)(observed, ref), ref)

    assert verdict(LINEAR.replace("b = detach a; ", ""), value(memory=None), of="a") is None
    assert verdict(LINEAR.replace("b = detach a; ", ""), moves, of="a") is None


def test_values_in_the_memory_of_a_leaf_move_with_it() -> None:
    program = "a = leaf [1, 2]; b = detach a; backward a with [1, 1]; step a sgd lr=0.5"
    found = verdict(program, shown(value=np.array([1.0, 2.0])), of="b")
    assert found is not None
    assert found.rule == "writes/aliases"


def test_a_step_changes_nothing_else_in_a_framework_without_in_place_ops() -> None:
    program = "a = leaf [1, 2]; b = relu a; backward b with [1, 1]; step a sgd lr=0.5"
    moves = shown(value=np.array([0.5, 1.5]))
    found = judged(*tampered(program, moves, of="b"), CLAIMS - {Capability.WRITES, Capability.MEMORY}).violation
    assert found is not None
    assert found.rule == "writes/nothing-else"


# -- memory that is another's -----------------------------------------------------------------------------------------


def memory_taken(program: str, of: str, taken_from: str) -> str | None:
    """The rule that is broken if a value, or its gradient, uses the memory of another one."""
    parsed = parse(program, VOCABULARY)
    refs = {name: ref for ref, name in names(parsed).items()}
    observation = list(run(parsed, TORCH))
    source = observation[refs[taken_from].at].outcome
    assert isinstance(source, Returned)
    (owner,) = source.values
    assert owner is not None
    last = observation[-1]
    if of in refs and refs[of].at == len(parsed) - 1:
        observation[-1] = value(memory=owner.memory)(last, refs[of])
    else:
        observation[-1] = held(memory=owner.memory)(last, refs[of])
    found = judged(parsed, tuple(observation)).violation
    return found.rule if found else None


@pytest.mark.parametrize(
    ("program", "of"),
    [
        ("a = leaf [1, 2]; b = leaf [1, 2]", "b"),
        ("a = leaf [1, 2]; b = exp a; c = exp b", "c"),
        ("a = leaf [1, 2]; b = exp a; backward b with [1, 1]", "a"),
        ("a = leaf [1, 2]; b = exp a; backward b with [1, 1] create=True", "a"),
        ("a = leaf [1, 2]; b = exp a; c = grad b wrt a with [1, 1]", "c"),
        ("a = leaf [1, 2]; b = exp a; c = multiply b b; retain c; backward c with [1, 1]", "c"),
    ],
)
def test_a_new_value_has_separate_memory(program: str, of: str) -> None:
    assert memory_taken(program, of, "a") == "views/own-memory"


def test_an_assigned_gradient_keeps_its_memory() -> None:
    program = "a = leaf [1, 2]; b = leaf [3, 4] const; assign a b; backward a with [1, 1]"
    assert verdict(program, lambda observed, ref: observed) is None


def test_views_of_unspecified_values_may_share_memory() -> None:
    program = """
        a = leaf [[1, 2], [3, 4]]; b = roll a shifts=1 dims=0; c = hook b scale 2.0; write b abs_
        d = grad b wrt a with [[1, 2], [3, 4]]; e = reshape d shape=(4,); f = matrix_transpose d
    """
    assert verdict(program, lambda observed, ref: observed) is None


@pytest.mark.parametrize(("inputs", "rule"), [("inputs b", None), ("", "views/own-memory")], ids=["replaced", "held"])
def test_a_returned_gradient_may_use_the_memory_of_a_replaced_one(inputs: str, rule: str | None) -> None:
    program = (
        f"a = leaf [1, 2]; b = square a; backward b {inputs} with [1, 1] retain=True; c = grad b wrt a with [1, 1]"
    )
    parsed = parse(program, VOCABULARY)
    observation = list(run(parsed, TORCH))
    (gradient,) = (g for g in observation[2].gradients.values() if g is not None)
    observation[-1] = value(memory=gradient.memory)(observation[-1], Ref(3))
    found = judged(parsed, tuple(observation)).violation
    assert (None if found is None else found.rule) == rule
