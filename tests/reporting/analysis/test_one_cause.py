"""Failures that look different, and have one cause."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from autograd_conformance.checking.signature import _error
from autograd_conformance.ops.forms import base_form
from autograd_conformance.reporting.records.failure import EMPTY, UNBATCHED, Allowed, Category, Failure, Signature
from tests.reporting.analysis.test_causes import OTHER, RAISED, failed, moved, program, together

REFUSED = "unknown (RuntimeError): expected target of # dims, got #"
REPEATED = "last of repeated"


def raises(op: str, got: str, meaning: str | None = None) -> Failure:
    signature = Signature(stage="apply", general=True, got=got, meaning=meaning)
    test = f"{op} {got} {meaning}"
    return failed("errors/legal-returns", RAISED, op, op=op, base=op, signature=signature, test=test)


def wrong(op: str, diagnosis: str | None, rule: str = "gradients/op") -> Failure:
    signature = Signature(stage="backward", general=False, diagnosis=diagnosis)
    test = f"{op} {diagnosis} {rule}"
    return failed(rule, OTHER, op, op=op, base=op, signature=signature, diagnosis=diagnosis, test=test)


@pytest.mark.parametrize("meaning", [UNBATCHED, EMPTY])
def test_an_error_for_all_operands_is_not_one_of_special_operands(meaning: str) -> None:
    special, ordinary = raises("cross_entropy_soft", REFUSED, meaning), raises("cross_entropy_soft", REFUSED)
    others = raises("avg_pool2d", "rank #", meaning), raises("max_pool2d", "rank", meaning)
    assert together(special, ordinary, *others) == [[0, 1], [2, 3]]
    assert together(special, raises("cross_entropy_soft", "another error"), *others) == [[0, 2, 3], [1]]


def test_a_diagnosis_of_one_op_covers_its_wrong_gradients_without_one() -> None:
    assert together(wrong("index", REPEATED), wrong("index", None)) == [[0, 1]]
    assert together(wrong("index", REPEATED), wrong("gather", None)) == [[0], [1]]


def test_an_error_is_the_same_if_it_was_not_seen_again() -> None:
    def raised(text: str, verdict: str) -> Failure:
        more: dict[str, Any] = {"observed": text, "verdict": verdict, "test": text + verdict}
        return failed("errors/legal-returns", RAISED, "sin", "exp", "log", **more)

    says = "TypeError: 'NoneType' object is not subscriptable"
    one = raised(f"raised {says}", "flaky")
    other = raised(f"raised an error that the adapter's `classify` does not know ({says})", "fail")
    assert together(one, other) == [[0, 1]]
    assert together(one, raised("raised TypeError: another", "fail")) == [[0], [1]]


def test_several_optimizers_may_share_the_code_that_breaks_a_rule() -> None:
    adam, adamw, groups = (
        moved(rule, optimizer, lr=0.1)
        for rule, optimizer in (
            ("optimizers/skips", "adam"), ("optimizers/skips", "adamw"), ("optimizers/groups", "sgd"),
        )
    )  # fmt: skip
    assert together(adam, adamw, groups) == [[0, 1], [2]]
    formulas = moved("optimizers/formula", "adam", lr=0.1), moved("optimizers/formula", "sgd", lr=0.1)
    assert together(*formulas) == [[0], [1]]


def test_what_ends_the_process_is_no_loss_of_digits() -> None:
    def dies(rule: str, op: str) -> Failure:
        return failed(rule, None, op, op=op, base=op, verdict="crash", observed="the process died of SIGSEGV")

    assert together(dies("gradients/op", "exp"), dies("gradients/tails", "exp")) == [[0, 1]]
    assert together(dies("gradients/op", "exp"), dies("gradients/tails", "log")) == [[0], [1]]


@pytest.mark.parametrize(
    ("op", "message"),
    [
        ("stack", "stack requires all tensors to have the same dtype"),
        ("stack_three", "stack requires all tensors to have the same dtype"),
        ("nll_loss", "nll_loss: input must be 1-D or 2-D, got 3-D"),
        ("cross_entropy", "nll_loss: input must be 1-D or 2-D, got 3-D"),
    ],
)
def test_a_message_may_name_the_function_that_an_op_calls(op: str, message: str) -> None:
    assert "<op>" in (_error("unknown", message, (op,)).got or "")


@pytest.mark.parametrize(
    ("op", "base"),
    [
        ("linear_bias", "linear"), ("stack_three", "stack"), ("max_pool2d_uneven", "max_pool2d"),
        ("conv2d_bias", "conv2d"), ("einsum_broadcast", "einsum"), ("gelu_tanh", "gelu_tanh"), ("prod_dim", "prod_dim"),
    ],
)  # fmt: skip
def test_an_op_with_further_operands_is_a_form_of_the_function(op: str, base: str) -> None:
    assert base_form(op) == base


def test_a_wrong_formula_is_not_a_write_that_is_not_noticed() -> None:
    def unnoticed(op: str) -> Failure:
        form = program(op)
        form["instructions"].insert(-1, {"do": "write", "op": "mul_scalar_", "target": "%0"})
        signature = Signature(stage="backward", general=False)
        return failed("writes/error-or-recorded", OTHER, op, program=form, signature=signature, test=f"writes {op}")

    written = [unnoticed(op) for op in ("sin", "cos", "divide", "addmm")]
    assert together(*written, wrong("addmm", None)) == [[0, 1, 2], [3, 4]]
    assert together(*written, wrong("pow_integer", None)) == [[0, 1, 2, 3], [4]]


def test_ops_in_place_that_are_not_refused_are_one_cause_if_they_are_several() -> None:
    def returned(op: str, error: str = "leaf written in place", rule: str = "writes/leaf-raises") -> Failure:
        form = program("exp", "log")
        form["instructions"].insert(1, {"do": "write", "op": op, "target": "%0"})
        return failed(rule, Category("lost error", "returned", error), op=op, program=form, test=f"{op} {error}")

    three = [returned(op) for op in ("sin_", "exp_", "abs_")]
    assert together(*three) == [[0, 1, 2]]
    assert together(*three, returned("abs_", "view may not be written", "views/refused")) == [[0, 1, 2], [3]]
    assert together(*three[:2]) == [[0], [1]]
    unseen = [returned(op, "modified in place", "writes/saved-raises") for op in ("sin_", "exp_", "abs_")]
    assert together(*unseen) == [[0], [1], [2]]  # each derivative saves what it needs


def test_clearing_and_steps_with_equal_settings_are_one_cause_whatever_the_ops() -> None:
    def cleared(allowed: str, *ops: str) -> Failure:
        outcome = (Allowed(allowed, "accumulation/zero-to-zeros"),)
        return failed("accumulation/zero-to-zeros", Category("value", "other gradient held"), *ops, allowed=outcome)

    others, own = "other leaves keep their gradients", "the leaf holds zeros"
    assert together(cleared(others, "add"), cleared(others, "sum", "add")) == [[0, 1]]
    assert together(cleared(others, "add"), cleared(own, "sum", "add")) == [[0], [1]]
    nesterov, constant = (moved("optimizers/formula", "sgd", lr=0.1, nesterov=True) for _ in range(2))
    other = {**constant.program, "instructions": [{"do": "leaf"}, *constant.program["instructions"]]}
    assert together(nesterov, replace(constant, program=other, test="t")) == [[0, 1]]
    assert together(nesterov, moved("optimizers/formula", "sgd", lr=0.1, maximize=True)) == [[0], [1]]


def test_gradients_that_are_not_retained_are_one_cause_whatever_the_ops() -> None:
    lost = Category("value", "lost gradient")
    one, other = (failed("hooks/retained", lost, *ops) for ops in (("exp", "sin"), ("log", "tanh", "exp")))
    assert together(one, other) == [[0, 1]]
    assert together(one, failed("hooks/retained", OTHER, "log", "tanh", "exp")) == [[0], [1]]
