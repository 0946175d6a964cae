"""The category of a violation, in the words of the records. Failures are grouped and ordered by it."""

from __future__ import annotations

from autograd_conformance.reporting.records.failure import Category
from autograd_conformance.rules.violations.violation import Violation


def category_of(violation: Violation) -> Category:
    """The category of a violation, such as a wrong value, a missing error or a wrong dtype."""
    observed, expected = violation.observed, tuple(each.expected for each in violation.allowed)
    return Category(observed.severity_among(expected), observed.category_text(), observed.error_among(expected))
