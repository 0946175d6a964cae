"""The category of a violation, and the ops without which it disappears, on a tiny autograd with faults."""

from __future__ import annotations

from typing import get_args

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
from autograd_conformance.rules.violations.expected import ExpectedError
from autograd_conformance.rules.violations.observed import (
    GradientForm,
    Observed,
    RaisedError,
    ReturnedUnexpectedly,
    SharedGradient,
)
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


def test_every_way_to_differ_has_words():
    """Covers the categories that depend on the type alone. The type checker covers the others, and so do runs of
    mutants.
    """
    made = [kind() for kind in get_args(Observed) if not kind.__dataclass_fields__]
    assert len(made) > 5
    assert len({category_of(violation(observed)).what for observed in made}) == len(made)


def violation(observed: Observed, *allowed: Allowed) -> Violation:
    return Violation("some/rule", 0, observed, allowed)


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
