"""Names the category of a violation, by which reports group and order failures."""

from __future__ import annotations

from autograd_conformance.reporting.records.failure import Category
from autograd_conformance.rules.violations.violation import Violation


def category_of(violation: Violation) -> Category:
    """Returns the category of a violation, such as a wrong value, a missing error or a wrong dtype."""
    observed, expected = violation.observed, tuple(each.expected for each in violation.allowed)
    return Category(observed.severity_among(expected), observed.category_text(), observed.error_among(expected))
