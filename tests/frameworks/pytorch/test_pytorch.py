"""PyTorch's adapter classifies every kind of error, and printed code behaves like the adapter's calls."""

from __future__ import annotations

import gc
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.printing.dialect import code
from autograd_conformance.programs.formats.text import names, parse
from autograd_conformance.programs.language import Hook, Program, Ref
from autograd_conformance.programs.observations import Kind, Raised, Returned
from tests.frameworks.test_runner import SUM, TORCH, A, last

# -- errors, by kind ---------------------------------------------------------------------------------------------------


REFUSED = {
    "a = leaf [1, 2]; write a zero_": Kind.LEAF_WRITTEN,
    "a = leaf [[1, 2]]; b = matrix_transpose a; write b zero_": Kind.LEAF_WRITTEN,
    "a = leaf [1, 2]; u, v = unstack a dim=0; write u zero_": Kind.VIEW_WRITTEN,
    "a = leaf [1, 2]; b = square a; u, v = unstack b dim=0; write v zero_": Kind.VIEW_WRITTEN,
    "a = leaf [1, 2]; b = square a; no_grad: u, v = unstack b dim=0; write v zero_": Kind.VIEW_WRITTEN,
    "a = leaf [[1, 2]]; b = square a; no_grad: c = matrix_transpose b; write c zero_": Kind.VIEW_WRITTEN,
    "a = leaf [[1, 2]]; b = square a; no_grad: c = matrix_transpose b; write b zero_; d = exp c": Kind.VIEW_WRITTEN,
    "a = leaf [[1], [2]] const; b = leaf [[1, 2], [3, 4]] const; c = broadcast_to a shape=(2, 2); write c add_ b": (
        Kind.OVERLAP
    ),
    "a = leaf [1, 2] const; b = square a; c = flip a dims=(0,); backward c": Kind.NO_GRAD,
    f"{A}; requires s False": Kind.NOT_A_LEAF,
    f"{A}; k = hook b observe accumulated": Kind.NOT_A_LEAF,
    "a = leaf [[1, 2]]; b = square a; c = matrix_transpose b; detach_ c": Kind.VIEW_DETACHED,
    "a = leaf [[1, 2]] const; c = matrix_transpose a; detach_ c": Kind.VIEW_DETACHED,
    f"{A}; c = leaf [1, 2]; g = grad s wrt c": Kind.UNUSED_INPUT,
    f"{A}; c = leaf [1, 2]; g, h = grad s wrt a, c unused=False": Kind.UNUSED_INPUT,
    f"{A}; c = leaf [1, 2] const; g = grad s wrt c": Kind.INPUT_NO_GRAD,
    f"{A}; c = leaf [1, 2] const; g = grad s wrt c unused=True": Kind.INPUT_NO_GRAD,
    f"{A}; backward s inputs none": Kind.NO_INPUTS,
    f"{A}; backward s, s inputs none": Kind.NO_INPUTS,
    f"{A}; c = leaf [1, 2] const; backward s inputs a, c": Kind.RETAIN_NO_GRAD,
    f"{A}; g = grad s wrt a unused=False materialize=True": Kind.OPTIONS,
    "a = leaf [1, 2] const; retain a": Kind.RETAIN_NO_GRAD,
    "a = leaf [1, 2] const; k = hook a observe": Kind.HOOK_NO_GRAD,
    "a = leaf [1, 2] const; k = hook a observe accumulated": Kind.HOOK_NO_GRAD,
    f"{A}; k = hook b misshape; backward s": Kind.HOOK_SHAPE,
    f"{A}; k = hook a misshape; backward s": Kind.HOOK_SHAPE,
    f"{A}; k = hook a raise; backward s": Kind.HOOK_RAISED,
    f"{A}; k = hook s raise; g = grad s wrt a": Kind.HOOK_RAISED,
    "a = leaf [1, 2]; b = leaf [1, 2, 3]; assign a b": Kind.GRADIENT_FORM,
    "a = leaf [1, 2]; b = leaf f32 [1, 2]; assign a b": Kind.GRADIENT_FORM,
    "a = leaf [1, 2]; assign a a": Kind.GRADIENT_FORM,
    f"a = leaf [1, 2]; b = exp a; write b add_ a; s = sum b {SUM}; backward s": Kind.MODIFIED,
    f"a = leaf [1, 2]; b = exp a; c = exp b; write b zero_; s = sum c {SUM}; backward s": Kind.MODIFIED,
    f"a = leaf [1, 2]; b = exp a; c = square b; s = sum c {SUM}; detach_ b; backward s": Kind.MODIFIED,
    f"a = leaf [1, 2]; b = square a; s = sum b {SUM}; no_grad: write a zero_; backward s": Kind.MODIFIED,
    f"{A}; g = grad s wrt a; h = grad s wrt a": Kind.GRAPH_FREED,
    f"{A}; g = grad b wrt a": Kind.NON_SCALAR_ROOT,
    f"{A}; g = grad s wrt a with [1, 2]": Kind.COTANGENT_SHAPE,
    "a = leaf 1; b = hardsigmoid a; g = grad b wrt a create=True; backward g": Kind.NOT_IMPLEMENTED,
    "a = leaf [1, 2]; g = held a": Kind.UNKNOWN,
}
"""Programs, by the kind of error that their last instruction raises."""


@pytest.mark.parametrize("text", REFUSED)
def test_an_error_is_told_by_its_kind(text: str):
    outcome = last(text).outcome
    assert isinstance(outcome, Raised)
    assert outcome.kind is REFUSED[text], outcome


def test_every_kind_is_provoked():
    elsewhere = {Kind.RECOMPUTED, Kind.NO_KERNEL, Kind.UNDECIDED}  # checkpoints, other devices, adapters come to these
    assert set(REFUSED.values()) == set(Kind) - elsewhere


def test_an_optimizer_over_no_leaf():
    import torch

    value = torch.tensor([1.0], requires_grad=True) * 2
    TORCH.reset()
    with pytest.raises(ValueError, match="non-leaf") as error:
        TORCH.step([value], "sgd", (("lr", 0.5),))
    assert TORCH.classify(error.value) is Kind.NOT_A_LEAF


# -- a program that is over leaves nothing -----------------------------------------------------------------------------

FORGOTTEN = (
    f"{A}; backward s",
    f"{A}; k = hook b scale 2.0; backward s",
    f"{A}; k = hook b observe; backward s; unhook k",
    f"{A}; k = hook a observe accumulated; retain b; backward s retain=True",
    f"{A}; k = hook b raise; backward s",
)


@pytest.mark.parametrize("text", FORGOTTEN)
def test_a_program_that_is_over_leaves_no_tensor(text: str, monkeypatch: pytest.MonkeyPatch):
    made: list[weakref.ref[Any]] = []
    leaf = TORCH.leaf

    def noted(*args: Any, **more: Any) -> Any:
        value = leaf(*args, **more)
        made.append(weakref.ref(value))
        return value

    monkeypatch.setattr(TORCH, "leaf", noted)
    run(parse(text, VOCABULARY), TORCH)
    TORCH.reset()
    gc.collect()
    assert made
    assert not any(value() is not None for value in made)


# -- what is printed does the same -------------------------------------------------------------------------------------

PRINTED = (
    *(text for text in REFUSED if "held a" not in text),
    f"{A}; k = hook b scale 2.0; l = hook b observe; m = hook a observe accumulated; backward s; unhook k",
    f"{A}; k = hook a replace inf; backward s; unhook k; drop b, s; zero a",
    f"{A}; g, h = grad s, b wrt a, b with 2, [1, 2] retain=True create=True; i = grad g wrt a with [1, 1]",
    f"{A}; retain b; backward s, b inputs a with none, [1, 2] create=True; zero a, b to zeros;"
    " no_grad: zero a to zeros",
    f"{A}; backward s inputs b, a; assign b a; g = held b",
    "a = leaf [1, 2] const; no_grad: enable_grad: requires a True; no_grad: write a add_scaled_ a alpha=2.0; b = exp a",
    "a = leaf [[1, 2]]; b = square a; write b set_index_ a index=0; detach_ b; write b mul_ b",
    f"{A}; backward s; step a adam lr=0.5; step a sgd lr=0.5; step a adam lr=0.5; step a adam lr=0.25",
)


@pytest.mark.parametrize("text", PRINTED)
def test_the_printed_code_does_what_was_observed(text: str, capsys: pytest.CaptureFixture[str]):
    program = parse(text, VOCABULARY)
    with warnings.catch_warnings(action="ignore"):
        seen = run(program, TORCH)
        space: dict[str, Any] = {}
        exec(TORCH.dialect.prelude, space)
        for at, line in enumerate(code(program, TORCH.dialect)):
            assert "\n" not in line
            outcome = seen[at].outcome
            capsys.readouterr()
            try:
                exec(line, space)
            except Exception as error:
                assert isinstance(outcome, Raised), line
                if outcome.kind is not Kind.HOOK_RAISED:
                    assert type(error).__name__ == outcome.type
            else:
                assert isinstance(outcome, Returned), line
            noted = [f for f in seen[at].fired if _observes(program, f.hook)]
            assert capsys.readouterr().out.count("tensor(") == len(noted)
            for ref, gradient in seen[at].gradients.items():
                now = space[names(program)[ref]].grad
                assert (now is None) == (gradient is None)
                assert gradient is None or np.array_equal(now.numpy(force=True), gradient.value)
            for ref, tensor in seen[at].values.items():
                assert np.array_equal(space[names(program)[ref]].numpy(force=True), tensor.value)


def _observes(program: Program, hook: Ref) -> bool:
    step = program[hook.at]
    return isinstance(step, Hook) and step.effect == "observe"
