"""Failures with one cause form one group, and failures with different causes do not."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from autograd_conformance.ops.rows.row import Certainty
from autograd_conformance.ops.tables import OPS
from autograd_conformance.reporting.analysis.causes import Cause, cause_number, causes
from autograd_conformance.reporting.analysis.severity import digits_text, heading, severity
from autograd_conformance.reporting.analysis.views import REORDERING
from autograd_conformance.reporting.records.encoding import decode, encode
from autograd_conformance.reporting.records.failure import (
    Category,
    Confirmation,
    ErrorSize,
    Failure,
    PartViolation,
    Signature,
)
from autograd_conformance.reporting.records.records import Report, Result
from autograd_conformance.reporting.render import markdown
from autograd_conformance.reporting.render.failures import SHOWN_IN_FULL, cause_title, print_failures
from tests.reporting.miniatures import BROKEN, FAILURE, SOUND, shown

OTHER = Category("value", "other gradient, leaf")
SHARED = Category("value", "shared gradient")
FREED = Category("lost error", "returned", "graph freed")
SHAPE = Category("lost error", "returned", "cotangent shape")
MODIFIED = Category("lost error", "returned", "modified in place")
RAISED = Category("wrong error", "raised", "unknown")
STRIDES = Category("form", "strides")


def program(*ops: str, data: float = 1.0) -> dict[str, Any]:
    leaf = {"do": "leaf", "shape": [1], "dtype": "float64", "data": [data]}
    applied = [{"do": "apply", "op": op, "args": [f"%{at}"]} for at, op in enumerate(ops)]
    return {"version": 3, "instructions": [leaf, *applied, {"do": "backward", "roots": [f"%{len(ops)}"]}]}


def failed(rule: str, deviation: Category | None, *ops: str, **more: Any) -> Failure:
    bare = replace(FAILURE, error=None, votes=None, diagnosis=None, script="", observed="returned")
    code = "\n".join(["a = leaf", *ops, "backward"])
    made = {"test": f"suites/test_{rule}::{'-'.join(ops)}", "program": program(*ops), "code": code}
    return replace(bare, rule=rule, deviation=deviation, **{**made, **more})


TANH = failed("gradients/op", OTHER, "tanh", op="tanh")


def found(*failures: Failure) -> tuple[Cause, ...]:
    return causes(replace(SOUND, failures=failures))


def test_of_two_programs_the_one_that_fails_alone_leads_its_cause():
    form = {"first": program("exp"), "second": program("exp", "exp")}
    part = PartViolation(rule="gradients/graph", deviation=OTHER)
    pair = failed("relations/sharing", SHARED, "exp", program=form, parts=(part,), replay="pair.json")
    alone = failed("gradients/graph", OTHER, "exp", "tanh", pair="pair.json")
    (cause,) = found(pair, alone)
    assert cause.shown is alone and cause.others == (pair,)
    assert len(found(pair, replace(alone, pair=None))) == 2


def together(*failures: Failure) -> list[list[int]]:
    """Indices of the failures in each cause."""
    return sorted(
        sorted(next(k for k, given in enumerate(failures) if given is each) for each in cause.failures)
        for cause in found(*failures)
    )


# -- an op that is wrong by itself -------------------------------------------------------------------------------------


def test_an_op_that_is_wrong_by_itself_is_the_cause_where_it_is_blamed() -> None:
    claim = failed("gradients/op", OTHER, "tanh", "sum", op="tanh", test="suites/test_articles.py::test_claim[x]")
    (cause,) = found(claim, TANH)
    assert (cause.op, cause.shown, cause.others) == ("tanh", TANH, (claim,))


def test_what_the_audit_alone_found_is_a_cause() -> None:
    audited = replace(TANH, test="audit[tanh]")
    elsewhere = failed("gradients/graph", OTHER, "multiply", "tanh", cured=("tanh",))
    assert found(elsewhere, audited) == (Cause((audited, elsewhere), "tanh"),)


@pytest.mark.parametrize(
    "other",
    [
        failed("gradients/graph", OTHER, "multiply", "tanh"),
        failed("gradients/graph", OTHER, "multiply", "tanh", cured=("multiply",)),
        failed("gradients/fan-out", OTHER, "tanh", "add", cured=("tanh",), diagnosis="counts the first use alone"),
        failed("gradients/graph", SHARED, "tanh", "add", cured=("tanh",)),
        failed("lifetime/same-root-raises", FREED, "tanh", cured=("tanh",)),
        failed("gradients/op", OTHER, "sin", op="sin"),
        failed("gradients/op", SHARED, "tanh", op="tanh"),
        replace(TANH, verdict="flaky"),
    ],
    ids=[
        "not tried",
        "another op cures",
        "explained otherwise",
        "another way",
        "freeing",
        "another op",
        "both",
        "flaky",
    ],
)
def test_it_is_not_the_cause_of_what_may_have_another(other: Failure) -> None:
    assert together(TANH, other) == [[0], [1]]


def test_an_op_that_is_only_blamed_in_company_is_not_wrong_by_itself() -> None:
    blamed = failed("gradients/op", OTHER, "sin", "tanh", op="tanh")
    elsewhere = failed("gradients/graph", OTHER, "multiply", "tanh", cured=("tanh",))
    assert together(blamed, elsewhere) == [[0], [1]]


def test_an_op_that_ends_the_process_is_the_cause_where_it_does_in_the_same_way() -> None:
    alone, within, hangs = (
        failed("gradients/op", None, "exp", op="exp", verdict="crash", observed="the process died of SIGSEGV"),
        failed("accumulation/adds", None, "sin", "exp", verdict="crash", observed="the process died of SIGSEGV"),
        failed("accumulation/adds", None, "sin", "exp", verdict="timeout", observed="did not come back in time (5 s)"),
    )
    assert together(alone, within, hangs) == [[0, 1], [2]]


# -- what is never freed, one rule, one program ------------------------------------------------------------------------


def test_a_graph_that_is_never_freed_is_one_cause_in_all_rules() -> None:
    rules = ("lifetime/same-root-raises", "lifetime/freed-subgraph-raises", "functional/frees")
    assert together(
        *(failed(rule, FREED, "sin", op) for rule, op in zip(rules, ("exp", "mm", "sum"), strict=True))
    ) == [[0, 1, 2]]


def test_the_same_error_of_one_rule_is_one_cause() -> None:
    one, two = failed("errors/cotangent-shape", SHAPE, "sin"), failed("errors/cotangent-shape", SHAPE, "exp", "mm")
    assert together(one, two, failed("errors/no-grad-root", SHAPE, "mm")) == [[0, 1], [2]]


def test_writes_that_two_ops_do_not_see_are_two_causes() -> None:
    one, two = (failed("writes/error-or-recorded", MODIFIED, op) for op in ("kron", "mm"))
    again = replace(one, program=program("kron", data=7.0), test="t[again]")
    assert together(one, two, again) == [[0, 2], [1]]


def test_errors_with_different_texts_are_different_causes() -> None:
    one, two = (
        failed("errors/legal-returns", RAISED, *ops, observed=f"raised: unknown ({kind})")
        for ops, kind in ((("sin",), "TypeError"), (("mm",), "ValueError"))
    )
    assert together(one, two, replace(one, program=program("exp"), test="t")) == [[0, 2], [1]]


def test_the_same_program_up_to_values_is_one_cause_within_a_family_alone() -> None:
    one = failed("accumulation/layout", STRIDES, "mm")
    two = failed("accumulation/own-layout", STRIDES, "mm", program=program("mm", data=2.0))
    assert together(one, two) == [[0, 1]]
    assert together(one, replace(two, rule="views/layout")) == [[0], [1]]
    assert together(one, replace(two, program=program("kron"))) == [[0], [1]]
    assert together(one, replace(two, program=program("mm", "mm"))) == [[0], [1]]


def test_wrong_values_that_nothing_explains_are_not_put_together_for_their_rule() -> None:
    one, two = failed("gradients/graph", OTHER, "sin", "mm"), failed("gradients/graph", OTHER, "exp", "sum")
    assert together(one, two) == [[0], [1]]
    diagnosed = [replace(each, rule="accumulation/adds", diagnosis="It was overwritten.") for each in (one, two)]
    assert together(*diagnosed) == [[0, 1]]
    assert together(diagnosed[0], replace(diagnosed[1], diagnosis="It was subtracted.")) == [[0], [1]]


def test_programs_that_no_record_holds_are_not_alike() -> None:
    bare = failed("gradients/graph", OTHER, "sin", program={})
    assert together(bare, replace(bare, test="t")) == [[0], [1]]


# -- what is wrong, as data --------------------------------------------------------------------------------------------

SHAPES = Signature(stage="apply", general=True, got="(1,)", want="()")
OTHER_SHAPE = Category("value", "other shape")
NUMBERS = Signature(stage="backward", general=False)
AT_ZERO = Signature(stage="backward", general=True, got="NaN where an operand is 0")
MISSING = Signature(stage="apply", general=True, got="unknown (AttributeError): module 'm' has no attribute")
FLAG = Category("form", "flag")
REQUIRES = Signature(stage="apply", general=True, got="requires grad: False")


def shaped(op: str, rule: str = "gradients/forward", signature: Signature = SHAPES) -> Failure:
    return failed(rule, OTHER_SHAPE, op, op=op, signature=signature)


def numbers(op: str, rule: str = "gradients/op", **more: Any) -> Failure:
    return failed(rule, OTHER, op, **{"op": op, "signature": NUMBERS, **more})


def test_the_same_shape_in_place_of_another_is_one_cause_over_ops_and_rules() -> None:
    (cause,) = found(shaped("sum"), shaped("det"), shaped("mean", "functional/value"))
    assert (cause.op, cause.ops) == (None, ("sum", "det", "mean"))
    transposed = replace(SHAPES, got="(1, 3)", want="(3,)")
    assert together(shaped("sum"), shaped("det", signature=transposed)) == [[0], [1]]
    assert together(shaped("sum"), shaped("det", signature=replace(SHAPES, stage="backward"))) == [[0], [1]]
    own = replace(SHAPES, got="(1, 1, 5)", want="(1, 1, 6)", general=False)
    assert together(shaped("conv1d", signature=own), shaped("conv2d", signature=own)) == [[0], [1]]


def test_numbers_that_are_no_floats_are_one_cause_for_operands_of_every_dtype() -> None:
    def typed(got: str, want: str) -> Failure:
        signature = Signature(stage="apply", general=True, got=got, want=want)
        return failed("gradients/forward", Category("form", "other dtype"), "irfft", op="irfft", signature=signature)

    assert together(typed("complex128", "float32"), typed("complex128", "float64")) == [[0, 1]]
    assert together(typed("complex128", "float32"), typed("int64", "float32")) == [[0], [1]]
    assert together(typed("float64", "float32"), typed("float64", "float16")) == [[0], [1]]


def test_wrong_numbers_of_different_ops_stay_apart() -> None:
    assert together(numbers("sin"), numbers("cos")) == [[0], [1]]
    zeros = replace(NUMBERS, got="zeros")
    assert together(numbers("sin", signature=zeros), numbers("cos", signature=zeros)) == [[0], [1]]
    assert together(numbers("sin"), numbers("sin", test="t")) == [[0, 1]]


def test_ops_that_are_wrong_on_views_alone_are_one_cause_if_they_are_several() -> None:
    def on_view(op: str, view: str = "permute_dims") -> Failure:
        return failed("gradients/graph", OTHER, op, view, cured=(op,), signature=NUMBERS)

    three = [on_view("sin"), on_view("neg"), on_view("exp", "transpose")]
    (cause,) = found(*three)
    assert cause.ops == ("sin", "neg", "exp") and "not in the order of memory" in cause_title(cause)
    assert together(*three[:2]) == [[0], [1]]  # two ops may have two faults
    assert together(*three, on_view("cos", "reshape")) == [[0, 1, 2], [3]]
    assert together(*three, numbers("tanh"), on_view("tanh")) == [[0, 1, 2], [3, 4]]  # tanh is wrong alone
    form = failed("gradients/form", Category("form", "form of a gradient"), "sub", "permute_dims", cured=("sub",))
    assert together(*three, form) == [[0, 1, 2, 3]]


def test_a_counted_failure_of_an_ops_own_test_is_told_with_that_op() -> None:
    alone = failed("gradients/op", OTHER, "tril", op="tril", signature=NUMBERS)

    def higher(test: str, *, counted: bool = True) -> Failure:
        return failed("gradients/graph", OTHER, "tril", "mul", test=test, counted=counted, signature=NUMBERS)

    assert together(alone, higher("t::test_op[tril]")) == [[0, 1]]
    assert together(alone, higher("t::test_op[tril]", counted=False)) == [[0], [1]]  # it was reduced, and keeps both
    assert together(alone, higher("t::test_op[sin]")) == [[0], [1]]
    assert together(alone, higher("t::test_composed")) == [[0], [1]]


def test_each_op_that_may_reorder_a_view_may_return_one() -> None:
    assert {name for name in REORDERING if OPS[name].aliases is not Certainty.NEVER} == REORDERING


def test_a_step_that_three_ops_do_not_notice_is_one_cause() -> None:
    def unnoticed(op: str, do: str = "step") -> Failure:
        form = program(op)
        form["instructions"].insert(2, {"do": do})
        return failed("writes/error-or-recorded", OTHER, op, program=form, signature=NUMBERS)

    assert together(unnoticed("sin"), unnoticed("exp")) == [[0], [1]]  # each may lack its own check
    assert together(unnoticed("sin"), unnoticed("exp"), unnoticed("tanh"), unnoticed("cos", "write")) == [
        [0, 1, 2],
        [3],
    ]


def test_a_write_that_three_ops_refuse_without_need_is_one_cause() -> None:
    def refused(op: str, rule: str = "writes/unsaved-works", error: str = "modified in place") -> Failure:
        form = program("clone", op)
        form["instructions"].insert(3, {"do": "write", "op": "mul_scalar_"})
        return failed(rule, Category("wrong error", "raised", error), program=form, observed=f"of {op}")

    assert together(refused("sum"), refused("reshape")) == [[0], [1]]
    others = refused("add", "detach/keeps-source"), refused("roll", error="graph freed")
    assert together(refused("sum"), refused("reshape"), *others) == [[0, 1, 2], [3]]


def test_digits_that_three_ops_lose_in_their_tails_are_one_cause() -> None:
    lost = [failed("gradients/tails", OTHER, op, program=program(op)) for op in ("tanh", "sigmoid", "gelu")]
    assert together(*lost[:2]) == [[0], [1]]
    assert together(*lost) == [[0, 1, 2]]


def test_derivatives_that_are_constants_in_three_ops_are_one_cause() -> None:
    constant = Signature(stage="grad", general=False, diagnosis="constant gradient")
    found = [
        failed("higher/op", OTHER, op, "multiply", op=op, signature=constant) for op in ("max", "select", "maximum")
    ]
    assert together(*found[:2]) == [[0], [1]]
    assert together(*found) == [[0, 1, 2]]


def test_wrong_gradients_of_the_same_ops_are_one_cause() -> None:
    one, other = failed("gradients/graph", OTHER, "sum", "exp"), failed("gradients/graph", OTHER, "exp", "sum")
    assert together(one, other, failed("gradients/graph", OTHER, "exp", "cos")) == [[0, 1], [2]]
    assert together(replace(one, rule="accumulation/adds"), replace(other, rule="accumulation/adds")) == [[0], [1]]


def test_what_a_failed_call_leaves_is_one_cause_whatever_it_passes() -> None:
    left = Category("value", "other gradient, failed call")
    assert together(failed("errors/atomic", left, "sin", "mul"), failed("errors/atomic", left, "exp", "add")) == [
        [0, 1]
    ]


def test_programs_that_hang_with_the_same_kinds_of_instructions_are_one_cause() -> None:
    def hung(kinds: str | None, verdict: str = "timeout") -> Failure:
        signature = Signature(stage="ending", general=kinds is not None, got=kinds)
        return failed(f"a/{kinds}", None, "sin", "exp", verdict=verdict, signature=signature, test=verdict)

    write, other = hung("write"), replace(hung("write"), rule="sequences/history")
    assert together(write, other, hung("hook"), hung(None), hung("write", "crash")) == [[0, 1], [2], [3], [4]]


def test_a_diagnosis_of_a_counted_failure_is_not_put_down_to_its_op() -> None:
    diagnosed = replace(NUMBERS, diagnosis="current values")
    counted = [
        failed("writes/error-or-recorded", OTHER, op, signature=diagnosed, counted=True) for op in ("selu", "sigmoid")
    ]
    single = replace(NUMBERS, meaning="numbers in float64 as exact as in float32")
    own, other = found(numbers("selu", signature=single), *counted)
    assert {own.op, other.op} == {"selu", None}
    assert {len(own.failures), len(other.failures)} == {1, 2}


def test_a_diagnosis_of_an_op_that_is_wrong_anyway_may_be_an_accident() -> None:
    diagnosed = replace(NUMBERS, diagnosis="cotangent ignored")
    ignored = failed("gradients/cotangent", OTHER, "batch_norm", signature=diagnosed, diagnosis="it was ignored")
    assert together(numbers("batch_norm"), ignored) == [[0, 1]]
    company = failed("gradients/cotangent", OTHER, "sin", "batch_norm", signature=diagnosed, diagnosis="it was ignored")
    assert together(numbers("batch_norm"), company) == [[0], [1]]


def test_nan_at_operands_of_0_is_one_cause_over_ops() -> None:
    one, two = (numbers(op, signature=AT_ZERO) for op in ("hypot", "norm"))
    assert together(one, two, numbers("sin")) == [[0, 1], [2]]
    elsewhere = numbers("norm", signature=replace(AT_ZERO, general=False, got="NaN"), test="t")
    assert together(one, elsewhere) == [[0], [1]]


def test_the_same_message_is_one_cause_over_ops_and_rules() -> None:
    one, two = (failed(rule, RAISED, op, op=op, signature=MISSING) for rule, op in (("a/b", "sinc"), ("c/d", "kron")))
    assert together(one, two) == [[0, 1]]
    other = replace(MISSING, got="unknown (AttributeError): 'float' has no attribute 'device'")
    assert together(one, replace(two, signature=other)) == [[0], [1]]
    assert together(one, replace(two, signature=replace(MISSING, stage="backward"))) == [[0], [1]]
    generic = replace(MISSING, got="unknown (IndexError): list index out of range", general=False)
    assert together(*(replace(each, signature=generic) for each in (one, two))) == [[0], [1]]


def test_a_flag_is_one_cause_over_ops_under_one_rule_alone() -> None:
    one, two = (failed("gradients/requires-grad", FLAG, op, op=op, signature=REQUIRES) for op in ("sign", "fmax"))
    assert together(one, two) == [[0, 1]]
    assert together(one, replace(two, rule="modes/no-grad-result")) == [[0], [1]]


def test_a_missing_error_is_one_cause_over_rules() -> None:
    returned = Signature(stage="backward", general=True, want="cotangent shape")
    one, two = (failed(rule, SHAPE, "sin", signature=returned) for rule in ("errors/cotangent-shape", "functional/x"))
    assert together(one, two) == [[0, 1]]
    own = replace(returned, general=False, want="modified in place")
    writes = (failed("writes/error-or-recorded", MODIFIED, op, signature=own) for op in ("kron", "mm"))
    assert together(*writes) == [[0], [1]]


def test_one_diagnosis_is_one_cause_whatever_lines_it_names() -> None:
    wrong = replace(NUMBERS, diagnosis="write ignored")
    one, two = (
        failed("writes/recorded", OTHER, op, signature=wrong, diagnosis=f"the write on line {line} was ignored")
        for op, line in (("sin", 3), ("mm", 4))
    )
    assert together(one, two) == [[0, 1]]
    assert together(one, replace(two, signature=replace(wrong, diagnosis="overwritten"))) == [[0], [1]]
    assert together(one, replace(two, rule="views/history")) == [[0], [1]]


def test_a_program_whose_only_op_is_faulty_has_its_cause() -> None:
    wrong = numbers("tanh")
    within = failed("higher/differentiable", OTHER, "tanh", "tanh", signature=NUMBERS)
    assert together(wrong, within) == [[0, 1]]
    assert together(wrong, replace(within, program=program("tanh", "add"))) == [[0], [1]]
    assert together(wrong, replace(within, deviation=SHARED)) == [[0], [1]]


def test_what_disappears_without_an_op_has_the_cause_of_that_op_and_others() -> None:
    one, two = (numbers(op, signature=AT_ZERO) for op in ("hypot", "norm"))
    sequence = failed("gradients/graph", OTHER, "hypot", "mm", cured=("hypot",), signature=NUMBERS)
    assert together(one, two, sequence) == [[0, 1, 2]]
    assert together(one, two, replace(sequence, cured=("mm",))) == [[0, 1], [2]]


def test_a_relation_has_the_cause_of_the_signature_that_its_programs_have() -> None:
    sums = failed("relations/sum", Category("value", "sums differ"), "sum", "sin", signature=NUMBERS)
    part = PartViolation(rule="gradients/forward", op="sum", deviation=OTHER_SHAPE, signature=SHAPES)
    assert together(shaped("det"), replace(sums, parts=(part,))) == [[0, 1]]
    assert together(shaped("det"), replace(sums, parts=(part, ONCE))) == [[0], [1]]


def test_a_record_without_a_signature_is_grouped_by_what_it_has() -> None:
    old = failed("gradients/forward", OTHER_SHAPE, "sum", op="sum")
    assert together(old, replace(old, test="t"), shaped("det")) == [[0, 1], [2]]


def test_a_cause_shows_a_failure_that_was_explained() -> None:
    counted = replace(shaped("sum"), counted=True)
    explained = replace(shaped("det"), code="a\nb\nc\nd\ne\nf")
    (cause,) = found(counted, explained)
    assert cause.shown is explained


def test_a_signature_and_digits_survive_in_records() -> None:
    error = ErrorSize(1.0, 0.1, 10.0, 0.0, 16.0)
    part = PartViolation(rule="gradients/forward", op="sum", deviation=OTHER_SHAPE, signature=SHAPES)
    failure = replace(shaped("sum"), error=error, counted=True, parts=(part,))
    assert decode(encode(failure)) == failure
    assert decode(encode(TANH)) == TANH
    assert not {"signature", "counted"} & encode(TANH).keys()


# -- wrong and imprecise -----------------------------------------------------------------------------------------------


def wrong_by(units: float, digits: float | None = None, of: float | None = None) -> Failure:
    return numbers("tanh", error=ErrorSize(1.0, 1.0 / units, units, digits, of))


def test_nearly_right_numbers_are_imprecise_and_never_silently_wrong() -> None:
    assert severity(wrong_by(9.0, 0.0, 16.0)) == "imprecise", "within ten bounds"
    assert severity(wrong_by(11.0, 0.0, 16.0)) == "value"
    assert severity(wrong_by(1e5, 8.0, 16.0)) == "imprecise", "half of the digits"
    assert severity(wrong_by(1e5, 7.9, 16.0)) == "value"
    assert severity(wrong_by(1e5, 3.5, 7.0)) == "imprecise"
    assert severity(wrong_by(2.7, 0.3, 2.1)) == "value", "ten bounds of bfloat16 are no measure"
    assert severity(wrong_by(2.7, 1.1, 2.1)) == "imprecise"
    assert severity(wrong_by(1e5)) == "value", "an older record"
    assert severity(shaped("sum")) == "value"
    assert severity(replace(wrong_by(2.0), deviation=STRIDES)) == "form"


def test_headings_say_how_many_digits_are_right() -> None:
    assert heading(wrong_by(1e5, 3.2, 16.0)) == "silently wrong, 3 of 16 digits right"
    assert heading(wrong_by(1e5, 9.9, 16.0)) == "imprecise, 9 of 16 digits right"
    assert (heading(shaped("sum")), digits_text(wrong_by(1e5))) == ("silently wrong", "")


def test_fewer_right_digits_come_first_and_imprecise_after_errors() -> None:
    few, more = wrong_by(1e9, 1.0, 16.0), replace(wrong_by(1e5, 4.0, 16.0), op="sin", program=program("sin"))
    near = replace(wrong_by(2.0, 12.0, 16.0), op="exp", program=program("exp"))
    raised = failed("b/wrong", RAISED, "b")
    assert [each.shown for each in found(near, raised, more, few)] == [few, more, raised, near]


def test_reports_name_the_digits_and_the_places() -> None:
    report = replace(FAULTY, failures=(*(shaped(op) for op in ("sum", "det", "mean")), wrong_by(1e5, 9.9, 16.0)))
    page = printed(report)
    assert "--- 1. silently wrong: gradients/forward, in 3 ops ---" in page
    assert "It is the same in 3 ops: sum, det, mean. Broken rules: gradients/forward (3)." in page
    assert "--- 2. imprecise, 9 of 16 digits right: op tanh breaks gradients/op" in page
    assert "silently wrong, 9" not in page
    markdown_page = markdown.render(report)
    assert "### 1. gradients/forward, in 3 ops: silently wrong" in markdown_page
    assert "### 2. gradients/op (tanh): imprecise, 9 of 16 digits right" in markdown_page
    assert "It is the same in 3 ops: sum, det, mean." in markdown_page


def test_lost_digits_share_a_cause_with_a_wrong_formula_and_not_with_what_calls_leave() -> None:
    tails, wrong = failed("gradients/tails", OTHER, "tanh", op="tanh", level="SHOULD"), TANH
    added = failed("accumulation/adds", OTHER, "tanh", op="tanh")
    assert together(tails, added) == [[0], [1]]
    assert together(tails, wrong) == [[0, 1]]


def test_none_in_calls_is_one_cause_if_three_ops_show_it() -> None:
    none = replace(
        SHAPES, stage="backward", general=False, got="unknown (AttributeError): 'NoneType' object has no x", want=None
    )
    raised = [failed("errors/legal-returns", RAISED, op, op=op, signature=none) for op in ("exp", "tanh", "sin")]
    assert together(*raised[:2]) == [[0], [1]]
    assert together(*raised) == [[0, 1, 2]]
    forward = [replace(each, signature=replace(none, stage="apply")) for each in raised]
    assert together(*forward) == [[0], [1], [2]]


# -- order -------------------------------------------------------------------------------------------------------------


def test_the_worst_cause_comes_first_and_must_before_should() -> None:
    form, wrong, lost, crash, value = (
        failed("a/form", STRIDES, "a"),
        failed("b/wrong", RAISED, "b"),
        failed("c/lost", SHAPE, "c"),
        failed("d/crash", None, "d", verdict="crash"),
        failed("e/value", OTHER, "e"),
    )
    advice = failed("f/value", OTHER, "f", level="SHOULD")
    untold = failed("g/old", None, "g")
    order = [cause.shown for cause in found(form, wrong, advice, lost, untold, crash, value)]
    assert order == [value, untold, crash, lost, wrong, form, advice]


def test_of_equally_bad_causes_that_of_most_failures_comes_first() -> None:
    one = failed("gradients/op", OTHER, "sin", op="sin")
    assert [len(cause.failures) for cause in found(one, TANH, replace(TANH, test="t"))] == [2, 1]


def test_a_cause_shows_its_shortest_program_and_of_those_that_of_the_rules_own_test() -> None:
    long = failed("lifetime/same-root-raises", FREED, "sin", "exp", test="t[long]")
    claim = failed("lifetime/same-root-raises", FREED, "sin", test="t[claim]")
    own = replace(claim, test="t[own]")
    results = tuple(
        Result(test=each.test, rule=rule, verdict="fail", programs=1, seconds=0.0)
        for each, rule in ((long, long.rule), (claim, "articles/claims"), (own, own.rule))
    )
    report = replace(SOUND, results=results, failures=(long, claim, own))
    (cause,) = causes(report)
    assert cause == Cause((own, long, claim))
    assert cause_number(claim, causes(report)) == 1
    tried = replace(claim, alone=Confirmation(runs=5, failed=5))
    (cause,) = causes(replace(report, failures=(long, tried, own)))
    assert cause.shown is tried


# -- records -----------------------------------------------------------------------------------------------------------


def test_an_older_record_has_no_deviation_and_is_read() -> None:
    form = encode(FAILURE)
    assert not {"deviation", "cured"} & form.keys()
    assert decode(form) == FAILURE
    assert severity(FAILURE) == "value", "it compared numbers"
    assert severity(replace(FAILURE, error=None, votes=None)) is None


def test_a_record_keeps_its_deviation() -> None:
    failure = failed("gradients/graph", OTHER, "tanh", cured=("tanh",))
    assert decode(encode(failure)) == failure
    assert encode(failure)["deviation"] == {"severity": "value", "what": "other gradient, leaf", "error": None}


# -- what people read --------------------------------------------------------------------------------------------------

GRAPH = failed("gradients/graph", OTHER, "multiply", "tanh", cured=("tanh",), replay="replay/graph.json")
FAULTS = (failed("lifetime/same-root-raises", FREED, "sin"), GRAPH, TANH)
FAULTY: Report = replace(BROKEN, failures=FAULTS)


def printed(report: Report) -> str:
    console = Console(file=io.StringIO(), width=100, color_system=None)
    print_failures(causes(report), console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_terminal_shows_each_cause_once_and_names_the_rest() -> None:
    page = printed(FAULTY)
    assert page.startswith("\n3 failures with 2 causes, the worst first.\n")
    assert re.findall(r"^--- (\d\. .*?) -+$", page, re.MULTILINE) == [
        "1. silently wrong: op tanh breaks gradients/op",
        "2. error not raised: lifetime/same-root-raises",
    ]
    assert "1 other failure with probably the same cause:\n  gradients/graph: found by multiply-tanh\n" in page
    assert page.count("The shortest program found:") == 2
    assert "Replay" not in page, "the report says how"
    again = tuple(replace(each, alone=Confirmation(runs=5, failed=5)) for each in FAULTS)
    assert printed(replace(FAULTY, failures=again)).count("\nRun again: it fails again in a fresh process") == 2


def test_a_single_cause_is_shown_with_its_commands() -> None:
    page = printed(replace(FAULTY, failures=(replace(TANH, script="import torch"),)))
    assert "import torch" in page and "pytest --replay report/1.json" in page
    assert page.startswith("\n1 failure.\n")


def test_causes_after_the_worst_have_one_line_each() -> None:
    many = tuple(failed("gradients/op", OTHER, op, op=op) for op in ("sin", "exp", "tanh", "mm", "kron"))
    page = printed(replace(FAULTY, failures=many))
    assert page.count("The shortest program found:") == SHOWN_IN_FULL
    assert "--- 5. silently wrong: op kron breaks gradients/op: returned" in page


def test_no_failure_prints_nothing() -> None:
    assert printed(SOUND) == ""


def test_nothing_of_a_message_drives_the_terminal() -> None:
    evil = failed("gradients/graph", OTHER, "sin", test="t::\x1b[31m", observed="\x1b]0;x", replay="r")
    page = printed(replace(FAULTY, failures=(evil, replace(evil, cured=("x",)))))
    assert "\x1b" not in page


def test_the_page_shows_each_cause_once_and_names_every_failure() -> None:
    page = markdown.render(FAULTY)
    assert re.findall(r"^### (.*)$", page, re.MULTILINE) == [
        "1. gradients/op (tanh): silently wrong",
        "2. lifetime/same-root-raises: error not raised",
    ]
    assert "The cause is the op `tanh`, which also fails in a program without other ops." in page
    row = f"| `gradients/graph` | `{GRAPH.test}` | multiply, tanh | returned | `replay/graph.json` |"
    folded = page[page.index("1 other failure with probably the same cause") :]
    assert row in folded[: folded.index("</details>")]
    assert page.count("<details>") == page.count("</details>")


def test_rules_name_their_causes() -> None:
    assert re.search(r"^fail +lifetime/same-root-raises \(MUST\): cause 2: returned", shown(FAULTY), re.MULTILINE)
    below = shown(FAULTY, in_full=SHOWN_IN_FULL)
    assert re.search(r"^fail +lifetime/same-root-raises \(MUST\): cause 2, 1 failure$", below, re.MULTILINE)


def test_the_summary_begins_with_the_conclusion_the_worst_causes_and_what_to_do() -> None:
    many = tuple(failed("gradients/op", OTHER, f"op{n}", op=f"op{n}") for n in range(30))
    page = shown(replace(FAULTY, failures=many), in_full=SHOWN_IN_FULL)
    order = (
        "NOT CONFORMANT. ",
        "30 failures",
        "--- 3. ",
        "and 20 more causes; the report has a line for each",
        "next    run",
    )
    places = [page.index(each) for each in (*order, "read report/index.html", "family  ", "fail   ")]
    assert places == sorted(places)
    assert page.count("The shortest program found:") == SHOWN_IN_FULL


# -- two related programs ----------------------------------------------------------------------------------------------

FAN_OUT = failed("gradients/fan-out", OTHER, "square", "add", diagnosis="only the first")
ONCE = PartViolation(rule="gradients/fan-out", deviation=OTHER, diagnosis="only the first")
SUMS = failed("relations/sum", Category("value", "sums differ"), "square", "sin", diagnosis="In isolation, ...")


def test_a_relation_has_the_cause_of_what_its_programs_break_by_themselves() -> None:
    assert together(FAN_OUT, replace(SUMS, parts=(ONCE,))) == [[0, 1]]
    assert together(FAN_OUT, replace(SUMS, parts=(ONCE, ONCE))) == [[0, 1]]
    wrong = PartViolation(rule="gradients/op", op="tanh", deviation=OTHER)
    assert together(TANH, replace(SUMS, parts=(wrong,))) == [[0, 1]]


@pytest.mark.parametrize(
    "parts",
    [
        (),
        (replace(ONCE, diagnosis=None),),  # it could be anything
        (replace(ONCE, diagnosis="another"),),
        (replace(ONCE, rule="gradients/graph"),),
        (ONCE, replace(ONCE, rule="gradients/graph")),  # of two causes, it has neither for certain
        (ONCE, replace(ONCE, diagnosis=None)),
    ],
)
def test_a_relation_keeps_a_cause_of_its_own(parts: tuple[PartViolation, ...]) -> None:
    assert together(FAN_OUT, replace(SUMS, parts=parts)) == [[0], [1]]


def moved(rule: str, optimizer: str, **settings: float) -> Failure:
    step = {"do": "step", "leaves": ["%0"], "optimizer": optimizer, "settings": settings}
    form = program("sin")
    form = {**form, "instructions": [*form["instructions"], step]}
    return failed(rule, Category("value", "other place"), program=form, test=f"{rule}[{optimizer}]{sorted(settings)}")


def test_the_steps_of_an_optimizer_with_a_wrong_formula_have_one_cause() -> None:
    wrong = moved("optimizers/formula", "adamw", lr=0.1)
    skips, other = moved("optimizers/skips", "adamw", lr=0.1, eps=0.5), moved("optimizers/skips", "sgd", lr=0.1)
    assert sorted(len(each.failures) for each in found(wrong, skips, other)) == [1, 2]
    of_a_setting = moved("optimizers/formula", "adamw", lr=0.1, amsgrad=1.0)
    assert len(found(of_a_setting, skips)) == 2
