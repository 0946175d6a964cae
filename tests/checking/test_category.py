"""The category of a violation, and the ops without which it disappears, on a tiny autograd with faults."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from autograd_conformance.checking.category import category_of
from autograd_conformance.checking.check import first_violation
from autograd_conformance.failures.case import Case
from autograd_conformance.failures.variations.ablation import essential_ops
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.observations import Kind
from autograd_conformance.reporting.records.failure import Category
from autograd_conformance.rules.violations import expected, observed, pairs, shared
from autograd_conformance.rules.violations.behaviour import Expected, Observed
from autograd_conformance.rules.violations.expected import ExpectedError
from autograd_conformance.rules.violations.observed import RaisedError, ReturnedUnexpectedly, SharedGradient
from autograd_conformance.rules.violations.shared import GradientForm
from autograd_conformance.rules.violations.violation import Allowed, Violation
from tests.frameworks.adapters.faulty import Faulty


def case(text: str) -> Case:
    """A program that violates a rule, with its observation."""
    program, target = parse(text), InProcess(Faulty())
    observation = target.observe(program)
    violation = first_violation(program, observation, target)
    assert violation is not None
    return Case(program, observation, violation, target)


OTHER = Category("value", "other gradient, leaf")
FREED = Category("lost error", "returned", "graph freed")


@pytest.mark.parametrize(
    ("text", "deviation", "hangs_on"),
    [
        ("a = leaf [1, 2]; b = multiply a a; c = tanh b; backward c with [1, 1]", OTHER, ("tanh",)),
        ("a = leaf [1, 2]; b = tanh a; c = multiply b b; backward c with [1, 1]", OTHER, ("tanh",)),
        ("a = leaf [1, 2]; b = tanh a; c = tanh b; d = sin c; backward d with [1, 1]", OTHER, ("tanh",)),
        ("a = leaf [1, 2]; b = tanh a; s = sum b dim=(0,) keepdim=False; t = sin s; backward t", OTHER, ("tanh",)),
        ("a = leaf [1, 2]; s = sum a dim=(0,) keepdim=False; t = tanh s; backward t", OTHER, ("tanh",)),
        ("a = leaf [1, 2]; b = tanh a; backward b with [1, 1]", OTHER, ()),
        ("a = leaf [1, 2]; b = sin a; backward b with [1, 1]; backward b with [1, 1]", FREED, ("sin",)),
    ],
    ids=["behind", "before", "twice", "before a sum", "behind a sum", "the op that is blamed", "never freed"],
)
def test_the_ops_without_which_a_program_differs_no_more(text: str, deviation: Category, hangs_on: tuple[str, ...]):
    found = case(text)
    assert category_of(found.violation) == deviation
    assert essential_ops(found) == hangs_on


MODULES = (shared, observed, expected, pairs)


def defined(base: type) -> list[type]:
    """All behaviours that are observed, or expected."""
    classes = dict.fromkeys(each for module in MODULES for each in vars(module).values() if isinstance(each, type))
    return [each for each in classes if issubclass(each, base) and dataclasses.is_dataclass(each)]


@pytest.mark.parametrize("kind", defined(Observed), ids=lambda kind: kind.__name__)
def test_every_way_to_differ_has_words(kind: type[Observed]):
    assert hasattr(kind, "observed_clause") or kind.observed_text is not Observed.observed_text
    assert hasattr(kind, "category") or kind.category_text is not Observed.category_text


@pytest.mark.parametrize("kind", defined(Expected), ids=lambda kind: kind.__name__)
def test_every_allowed_behaviour_has_words(kind: type[Expected]):
    assert hasattr(kind, "expected_clause") or kind.expected_text is not Expected.expected_text


def test_every_way_to_differ_has_its_own_category():
    categories = [kind.category for kind in defined(Observed) if hasattr(kind, "category")]
    assert len(categories) >= 30
    assert len(set(categories)) == len(categories)


def violation(seen: Observed, *allowed: Allowed) -> Violation:
    return Violation("some/rule", 0, seen, allowed)


def test_errors_are_named_by_their_kind():
    due = Allowed(ExpectedError(Kind.MODIFIED), "writes/error-or-recorded")
    assert category_of(violation(ReturnedUnexpectedly(), due)) == Category(
        "lost error", "returned", "modified in place"
    )
    raised = RaisedError(Kind.UNKNOWN, "TypeError", "what?")
    assert category_of(violation(raised)) == Category("wrong error", "raised", "unknown")
    assert category_of(violation(SharedGradient("a", "b"))).severity == "value"


@pytest.mark.parametrize(("shape", "severity"), [((2,), "form"), ((2, 1), "value")])
def test_a_gradient_of_another_shape_is_a_wrong_value_and_of_another_dtype_is_form(shape, severity):
    due = Allowed(GradientForm((2,), "float64"), "gradients/form")
    seen = GradientForm(shape, np.dtype("float32").name)
    assert category_of(violation(seen, due)).severity == severity
