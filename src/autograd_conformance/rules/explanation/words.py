"""A violation in English: what was observed, and what the rules allow.

This and the two modules that it is made of are the only place where violations become text.
"""

from __future__ import annotations

from autograd_conformance.rules.explanation.expected_words import expected_text
from autograd_conformance.rules.explanation.observed_words import difference_text
from autograd_conformance.rules.violations.violation import Violation


def observed_text(violation: Violation) -> str:
    """What the framework did, as a clause."""
    return difference_text(violation.observed)


def allowed_texts(violation: Violation) -> tuple[tuple[str, str], ...]:
    """What the framework might have done instead, each with the rule that allows it."""
    return tuple((expected_text(allowed.expected), allowed.rule) for allowed in violation.allowed)
