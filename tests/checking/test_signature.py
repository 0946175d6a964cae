"""Signatures are equal for one fault in several ops, and differ for different faults."""

from __future__ import annotations

import numpy as np
import pytest

from autograd_conformance.checking.error_size import error_size
from autograd_conformance.checking.meanings import BROADCAST
from autograd_conformance.checking.messages import is_generic, normalised, without_context
from autograd_conformance.checking.signature import NAN_AT_ZERO, signature_of
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Program, Ref
from autograd_conformance.programs.observations import Kind
from autograd_conformance.reporting.records.failure import EMPTY, Signature
from autograd_conformance.rules.diagnosis.kinds import Diagnosis, DiagnosisKind
from autograd_conformance.rules.violations.behaviour import Expected, Observed
from autograd_conformance.rules.violations.expected import DefinedValue, ExpectedError, ExpectedReturn, RightGradient
from autograd_conformance.rules.violations.observed import OtherGradient, OtherValue, RaisedError, ReturnedUnexpectedly
from autograd_conformance.rules.violations.shared import (
    Flag,
    GradientForm,
    HookNotCalled,
    NoGradient,
    OwnMemory,
    Place,
    ResultShape,
)
from autograd_conformance.rules.violations.violation import Allowed, Violation

SINE = "a = leaf [0, 2]; b = sin a; backward b with [1, 1]"
SQRT = "a = leaf [3, 0]; b = sqrt a; backward b with [1, 1]"


def program(text: str = SINE) -> Program:
    return parse(text, VOCABULARY)


def signature(observed: Observed, expected: Expected, at: int = 1, text: str = SINE, **more: object) -> Signature:
    given = program(text)
    op = getattr(given[1], "op", None)
    violation = Violation("gradients/op", at, observed, (Allowed(expected, "gradients/op"),), op=op, **more)  # type: ignore[arg-type]
    return signature_of(given, violation)


def raised(message: str, type_: str = "RuntimeError", text: str = SINE) -> Signature:
    return signature(RaisedError(Kind.UNKNOWN, type_, message), ExpectedReturn(), text=text)


def gradient(got: list[float], want: list[float], text: str = SINE) -> Signature:
    arrays = {"got": np.array(got), "want": np.array(want), "bound": np.full(len(got), 1e-14)}
    return signature(OtherGradient(Place.LEAF), RightGradient(Place.LEAF), 2, text, subject=Ref(0), **arrays)


# -- shapes ------------------------------------------------------------------------------------------------------------


def test_a_shape_that_differs_by_dimensions_of_length_1_is_general() -> None:
    one, two = signature(ResultShape((1,)), ResultShape(())), signature(ResultShape((1,)), ResultShape(()), text=SQRT)
    assert one == two
    assert (one.stage, one.got, one.want, one.general) == ("apply", "(1,)", "()", True)
    assert signature(ResultShape((1, 3)), ResultShape((3,))) == signature(ResultShape((5, 1)), ResultShape((5,)))
    assert signature(ResultShape((3,)), ResultShape((1, 3))) != signature(ResultShape((1, 3)), ResultShape((3,)))
    assert signature(ResultShape((1,)), ResultShape(())) != signature(ResultShape((1, 3)), ResultShape((3,)))
    assert signature(ResultShape(()), ResultShape((1,))) == signature(ResultShape(()), ResultShape((1, 1)))
    assert signature(ResultShape(()), ResultShape((1,))) != signature(ResultShape((1,)), ResultShape(()))


@pytest.mark.parametrize(("got", "want"), [((1, 1, 5), (1, 1, 6)), ((2, 3), (3, 2)), ((4,), ()), ((6,), (2, 3))])
def test_other_shapes_are_those_of_one_op(got: tuple[int, ...], want: tuple[int, ...]) -> None:
    assert not signature(ResultShape(got), ResultShape(want)).general


def test_what_must_be_empty_and_is_not_has_one_meaning_in_whatever_op() -> None:
    one = signature(ResultShape((1, 3)), ResultShape((0, 3)))
    assert one.meaning == signature(GradientForm((1,), "float64"), GradientForm((0,), "float64"), 2).meaning == EMPTY
    assert signature(ResultShape((0, 1)), ResultShape((0, 3))).meaning is None


@pytest.mark.parametrize(
    ("got", "want", "meaning"),
    [
        ((3,), (), BROADCAST),
        ((3,), (1,), BROADCAST),
        ((2, 3), (3,), BROADCAST),
        ((2, 3), (1, 3), BROADCAST),
        ((1,), (), None),
        ((3,), (2,), None),
        ((2, 3), (2,), None),
        ((3,), (2, 3), None),
    ],
)
def test_a_gradient_that_is_not_summed_has_one_meaning(
    got: tuple[int, ...], want: tuple[int, ...], meaning: str | None
) -> None:
    assert signature(GradientForm(got, "float64"), GradientForm(want, "float64"), 2).meaning == meaning
    assert signature(ResultShape(got), ResultShape(want)).meaning is None


def test_a_gradient_of_another_dtype_is_general() -> None:
    of = signature(GradientForm((2,), "float32"), GradientForm((2,), "float64"), 2)
    assert (of.got, of.want, of.general, of.stage) == ("float32", "float64", True, "backward")
    assert not signature(GradientForm((3,), "float32"), GradientForm((2,), "float64"), 2).general


# -- errors ------------------------------------------------------------------------------------------------------------


def test_an_error_of_a_step_is_general_over_optimizers() -> None:
    step = "a = leaf 1; backward a; step a sgd lr=0.5"
    message = "list index out of range [op=_{}_step, device=cpu]"
    sgd, adam = (
        signature(RaisedError(Kind.UNKNOWN, "IndexError", message.format(each)), ExpectedReturn(), 2, step)
        for each in ("sgd", "adam")
    )
    assert sgd == adam and sgd.general


def test_a_message_without_numbers_shapes_and_the_ops_name_is_general() -> None:
    one = raised("sin: expected 3 dimensions, got a tensor of shape (2, 3)")
    assert one == raised("sqrt: expected 4 dimensions, got a tensor of shape (5,)", text=SQRT)
    assert one.general
    assert one.got == "unknown (RuntimeError): <op>: expected # dimensions, got a tensor of shape #"
    assert one != raised("sin: expected 3 dimensions, got a tensor of shape (2, 3)", "ValueError")
    assert one != raised("sin: expected 3 elements, got a tensor of shape (2, 3)")


def test_missing_functions_of_a_module_are_one_cause() -> None:
    kind = "AttributeError"
    one = raised("module 'mine' has no attribute 'sinc'", kind)
    assert one == raised("module 'mine' has no attribute 'kron'", kind)
    assert one != raised("module 'mine.linalg' has no attribute 'kron'", kind)
    assert raised("'Tensor' has no attribute 'sin_'", kind) == raised("'Tensor' has no attribute 'sqrt_'", kind, SQRT)
    assert raised("'Tensor' has no attribute 'mT'", kind) != raised("'Tensor' has no attribute 'mH'", kind)


def test_messages_of_python_are_those_of_one_op_unless_the_framework_says_where() -> None:
    assert not raised("list index out of range", "IndexError").general
    assert not raised("", "AssertionError").general
    located = "list index out of range [op={}, device=cpu]"
    transposed = raised(located.format("transpose"), "IndexError")
    assert transposed.general
    assert transposed == raised(located.format("transpose"), "IndexError", SQRT)
    assert transposed != raised(located.format("kron"), "IndexError")
    assert raised(located.format("sin"), "IndexError") != raised(located.format("sqrt"), "IndexError", SQRT)


def test_notes_of_the_framework_do_not_matter_where_the_message_says_what_is_wrong() -> None:
    message = "index must be integer dtype [op={}, device=cpu] [op={}, device=cpu]"
    assert raised(message.format("take", "take")) == raised(message.format("gather", "gather"), text=SQRT)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("got 3 and 4.5e-3, but float64 and conv2d", "got # and #, but float64 and conv2d"),
        ("shape torch.Size([2, 3]) or [4]", "shape # or #"),
        ("[torch.Tensor [1x3]] of (2 x 3)", "[torch.Tensor #] of #"),
        ("at 0x7f3a2b", "at #"),
        ("Tensor([2.25 4.  6.25], requires_grad=True)", "Tensor(#)"),
        ("Tensor([[ 7.5625 0.25 4.515625]", "Tensor(#)"),
        (
            "got tensor(1., grad_fn=<Exp(a)>) for an array([[1],\n [2]]) of conv2d(Tensor x)",
            "got tensor(#) for an array(#) of conv2d(Tensor x)",
        ),
        ("argument sine of SIN and sin_", "argument sine of <op> and <op>"),
    ],
)
def test_normalised_messages(message: str, text: str) -> None:
    assert normalised(message, ("sin",)) == text


def test_generic_messages() -> None:
    assert is_generic("not enough values to unpack (expected 3, got 2)") and is_generic("'NoneType' object is None")
    assert not is_generic("index must be integer dtype") and not is_generic("list index out of range in transpose")
    assert without_context("wrong [op=a, device=cpu] [op=a]") == "wrong"
    assert without_context("wrong [1, 2] here") == "wrong [1, 2] here"


def test_a_missing_error_is_general_unless_each_op_checks_for_it() -> None:
    assert signature(ReturnedUnexpectedly(), ExpectedError(Kind.COTANGENT_SHAPE)).general
    assert not signature(ReturnedUnexpectedly(), ExpectedError(Kind.MODIFIED)).general


# -- flags and memory --------------------------------------------------------------------------------------------------


def test_flags_memory_and_hooks_are_general_and_differ() -> None:
    flag, other = signature(Flag(True), Flag(False)), signature(Flag(False), Flag(True))
    assert flag.general and other.general and flag != other
    assert signature(OwnMemory(), OwnMemory()).general and signature(HookNotCalled(), ExpectedReturn()).general


def test_a_missing_gradient_is_apart_after_what_may_cut_the_graph() -> None:
    def missing(text: str) -> Signature:
        given = program(text)
        violation = Violation(
            "accumulation/first",
            len(given) - 1,
            NoGradient(),
            (Allowed(RightGradient(Place.LEAF), "accumulation/first"),),
        )
        return signature_of(given, violation)

    plain = missing(SINE)
    assert plain == missing(SQRT) and plain.general
    cut = missing("a = leaf [1, 2]; b = square a; c = square b; detach_ b; backward c with [1, 1]")
    second = missing(
        "a = leaf [1, 2]; b = sin a; backward b with [1, 1] create=True; c = held a; backward c with [1, 1]"
    )
    assert len({plain, cut, second}) == 3
    assert "create_graph" in (second.got or "")


# -- numbers -----------------------------------------------------------------------------------------------------------


def test_wrong_numbers_are_those_of_one_op() -> None:
    wrong = gradient([1.0, 2.0], [3.0, 4.0])
    assert (wrong.got, wrong.general) == (None, False)
    assert (gradient([0.0, 0.0], [3.0, 4.0]).got, gradient([0.0, 0.0], [3.0, 4.0]).general) == ("zeros", False)
    assert not signature(OtherValue(), DefinedValue(), got=np.ones(2), want=np.zeros(2)).general


def test_nan_where_an_operand_is_0_is_general_and_other_nan_is_not() -> None:
    nan = float("nan")
    at_zero = gradient([nan, 2.0], [1.0, 2.0])
    assert (at_zero.got, at_zero.general) == (NAN_AT_ZERO, True)
    assert at_zero == gradient([2.0, nan], [2.0, 1.0], SQRT)
    elsewhere = gradient([1.0, nan], [1.0, 2.0])
    assert (elsewhere.got, elsewhere.general) == ("NaN", False)
    assert not gradient([nan, nan], [1.0, 2.0]).general, "one operand is not 0"
    assert gradient([float("inf"), 2.0], [1.0, 2.0]).got == "infinite"


def test_a_diagnosis_is_named_without_its_lines() -> None:
    diagnosis = [Diagnosis(DiagnosisKind.WRITE_IGNORED, (number,)) for number in (3, 4)]
    one, two = (signature(OtherValue(), DefinedValue(), diagnosis=each) for each in diagnosis)
    assert one == two and one.diagnosis == "write ignored"


# -- digits ------------------------------------------------------------------------------------------------------------


def digits(got: list[float], want: list[float], bound: float = 1e-14, dtype: str = "float64") -> tuple[float, float]:
    given = program(f"a = leaf [0, 2] {dtype}; b = sin a" if dtype != "float64" else SINE)
    arrays = {"got": np.array(got), "want": np.array(want), "bound": np.full(len(got), bound)}
    violation = Violation("gradients/forward", 1, OtherValue(), (), **arrays)  # type: ignore[arg-type]
    error = error_size(given, violation)
    assert error is not None and error.digits is not None and error.of is not None
    return error.digits, error.of


def test_right_digits_are_those_of_the_worst_wrong_element() -> None:
    assert digits([1.0, 2.0002], [1.0, 2.0]) == (4.0, 16)
    assert digits([1.0 + 1e-15, 5.0], [1.0, 2.0])[0] == 0.0
    assert digits([1.0, float("nan")], [1.0, 2.0])[0] == 0.0
    assert digits([1e-6, 1.0], [0.0, 1.0], bound=0.0)[0] == 0.0, "it has to be 0"


def test_digits_of_a_number_that_is_nearly_0_count_from_its_terms() -> None:
    assert digits([5.3e-12], [1e-20], bound=5.9e-14)[0] > 10
    assert digits([1.0], [0.0], bound=1e-14)[0] == 0.0


def test_digits_in_the_tails_are_those_of_the_number_however_small() -> None:
    arrays = {"got": np.zeros(1), "want": np.array([4.2e-18]), "bound": np.array([4.2e-26])}
    violation = Violation("gradients/tails", 1, OtherValue(), (), **arrays)  # type: ignore[arg-type]
    error = error_size(SINE, violation)
    assert error is not None and error.digits == 0.0
