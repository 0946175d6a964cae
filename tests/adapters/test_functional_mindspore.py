"""MindSpore as a framework under test. MINDSPORE_PYTHON names an interpreter that has MindSpore and its NumPy."""

from __future__ import annotations

import os

import pytest

from autograd_conformance.checking.check import first_violation, violation_of
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.frameworks.remote.command import served
from autograd_conformance.frameworks.target import open_target
from autograd_conformance.known_differences import is_known, known
from autograd_conformance.known_differences.conditions.computed import EmptyValue
from autograd_conformance.ops.catalogue import APPLIED
from autograd_conformance.programs.observations import Kind, Raised, Returned
from evaluation.pages import frameworks
from tests.frameworks.test_functional import PROGRAMS, SECOND, SEVERAL, program_of

PYTHON = os.environ.get("MINDSPORE_PYTHON")
ENTRIES = known("mindspore")

pytestmark = pytest.mark.skipif(PYTHON is None, reason="MINDSPORE_PYTHON names no interpreter")


def in_float32(text: str) -> str:
    """Parse a program and convert its leaves and cotangents to float32, the dtype that MindSpore is tested in."""
    return text.replace("leaf ", "leaf f32 ").replace("with [", "with f32 [").replace("], [", "], f32 [")


@pytest.fixture(scope="module")
def target() -> Target:
    return open_target(served("mindspore", PYTHON, None))


def test_it_is_served(target: Target):
    assert target.version
    assert set(target.ops) <= set(APPLIED)
    assert f"{frameworks.row('mindspore', PYTHON)}\n" in frameworks.PAGE.read_text()


@pytest.mark.parametrize("text", PROGRAMS)
def test_derivatives_of_every_order_are_right(text: str, target: Target):
    program = program_of(in_float32(text))
    assert violation_of(program, target) is None
    assert all(isinstance(seen.outcome, Returned) for seen in target.observe(program))


@pytest.mark.parametrize("text", [SECOND, SEVERAL])
def test_printed_code_does_the_same(text: str, target: Target):
    program = program_of(in_float32(text))
    printed = target.observe_printed(program)
    assert first_violation(program, printed, target) is None
    assert all(isinstance(seen.outcome, Returned) for seen in printed)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("a = leaf f32 [2, 3]; b = exp a; c = grad b wrt a with f32 [1, 1, 1] materialize=True", Kind.COTANGENT_SHAPE),
        ("a = leaf f32 [2, 3]; b = exp a; c = grad b wrt a with f32 1 materialize=True", Kind.COTANGENT_SHAPE),
        (
            "a = leaf f32 [2, 3]; b = median a; c = grad b wrt a with f32 1 create=True materialize=True; "
            "d = grad c wrt a with f32 [1, 1] materialize=True",
            Kind.NOT_IMPLEMENTED,
        ),
    ],
)
def test_errors_are_told_apart(text: str, kind: Kind, target: Target):
    outcome = target.observe(program_of(text))[-1].outcome
    assert isinstance(outcome, Raised)
    assert outcome.kind is kind


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.rule} {entry.op}")
def test_each_difference_shows_in_its_witness(entry, target: Target):
    if entry.rule.startswith("relations/"):
        pytest.skip("it takes two programs")
    violation = violation_of(entry.witness, target)
    if entry.get(EmptyValue):  # what is shown is what the memory held before, which may be zero
        assert violation is None or any(is_known(each, entry.witness, violation) for each in ENTRIES)
        return
    assert violation is not None
    assert is_known(entry, entry.witness, violation)


def test_a_fault_is_seen(target: Target):
    program, other = (program_of(in_float32(text)) for text in (SEVERAL, SEVERAL.replace("[1, 2]", "[2, 2]")))
    violation = first_violation(program, target.observe(other), target)
    assert violation is not None
    assert violation.rule.startswith("gradients/")
