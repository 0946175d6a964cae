"""Remarks on errors that `classify` does not know: the advised lines can be pasted, and each is about one kind."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest

from autograd_conformance.checking.counts.remarks import Remarks, advice
from autograd_conformance.programs.observations import Kind, Raised
from autograd_conformance.reporting.render import brief, markdown
from autograd_conformance.tape.refusals import Refusal
from tests.reporting.miniatures import FOOTER, SOUND, shown

SHAPES = "Attempt to assign grad ((2, 3)) to a Tensor ((2,)) that has a different shape"


def refusal(message: str, expected: Kind, type_: str = "RuntimeError") -> Refusal:
    """Returns the refusal by an error with a message."""
    return Refusal.of(Raised(Kind.UNKNOWN, type_, message), expected)


def line_of(text: str) -> str:
    """Returns the line that an advice has in backticks."""
    (line,) = re.findall("`([^`]+)`", text)
    return line


def kind_by(line: str, error: BaseException) -> Kind:
    """Runs an advised line as the body of `classify`."""
    names = {"Kind": Kind}
    exec(f"def classify(error):\n    {line}\n    return Kind.UNKNOWN", names)
    return names["classify"](error)  # type: ignore[operator]


@pytest.mark.parametrize("shape", ["(2, 3)", "(2,)", "()", "[]"])
def test_no_line_is_advised_for_a_message_of_two_kinds(shape: str):
    one = refusal(SHAPES, Kind.COTANGENT_SHAPE)
    two = refusal(SHAPES.replace("(2, 3)", shape), Kind.GRADIENT_FORM)
    for each, other in ((one, two), (two, one)):
        text = advice(each, (), (one, two))
        assert "Kind." not in text
        assert f"do not separate it from the error expected for {other.expected.value}" in text


def test_the_brackets_of_a_call_are_no_shape():
    assert refusal("use zero_grad() for shape ()", Kind.NO_GRAD).message == "use zero_grad() for shape #"


@pytest.mark.parametrize(
    ("message", "other", "type_"),
    [
        ("the gradient of 3 has 4 as a different shape", "the assigned value 3 has 4 as a different shape", "E"),
        ("a different shape", "a different shape", "ValueError"),
        ("", "", "ValueError"),
    ],
)
def test_a_line_is_advised_that_holds_for_one_kind_only(message: str, other: str, type_: str):
    one = refusal(message, Kind.COTANGENT_SHAPE, "TypeError")
    two = refusal(other, Kind.GRADIENT_FORM, "TypeError" if type_ == "E" else type_)
    line = line_of(advice(one, (), (one, two)))
    assert kind_by(line, TypeError(message)) is Kind.COTANGENT_SHAPE
    assert kind_by(line, (TypeError if type_ == "E" else ValueError)(other)) is Kind.UNKNOWN


@pytest.mark.parametrize(
    "message",
    [
        "grad  must be  specified for 3  tensors",
        "Cannot retain_grad() on `x` *now* | a\\b",
        "tab\there",
        'no <gradient> in "Tensor"',
    ],
)
def test_an_advised_line_on_a_page_matches_its_error(message: str):
    remarks = Remarks(Counter([refusal(message, Kind.NO_GRAD)]))
    report = replace(SOUND, footer=replace(FOOTER, notes=tuple(remarks.lines())))
    for page in (markdown.render(report), brief.render(report)):
        (line,) = re.findall("`(if .*? in str[^`]*)`", page)
        assert kind_by(line, RuntimeError(message)) is Kind.NO_GRAD


def test_a_summary_shows_three_remarks_in_full_and_the_page_all():
    kinds = (Kind.NO_GRAD, Kind.GRAPH_FREED, Kind.NON_SCALAR_ROOT, Kind.COTANGENT_SHAPE, Kind.MODIFIED)
    letters = zip("abcde", kinds, strict=True)
    remarks = Remarks(Counter(refusal(f"an error about {letter}", kind) for letter, kind in letters))
    report = replace(SOUND, footer=replace(FOOTER, notes=("another note", *remarks.lines())))
    for page in (brief.render(report), shown(report)):
        assert page.count("had to raise an error") == 3
        assert "2 more errors that" in page and "the report lists them" in page and "another note" in page
    assert markdown.render(report).count("had to raise an error") == 5
