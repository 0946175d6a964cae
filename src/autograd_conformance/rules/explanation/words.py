"""A violation in English: the observed behaviour, and the behaviour that the rules allow.

Only this module and the two that it uses turn violations into text.
"""

from __future__ import annotations

from autograd_conformance.rules.explanation.expected_words import expected_text
from autograd_conformance.rules.explanation.observed_words import difference_text
from autograd_conformance.rules.violations.violation import Violation


def observed_text(violation: Violation) -> str:
    """The observed behaviour, as a clause."""
    return difference_text(violation.observed)


def allowed_texts(violation: Violation) -> tuple[tuple[str, str], ...]:
    """The behaviours that the rules allow instead, as clauses, each with its rule."""
    return tuple((expected_text(allowed.expected), allowed.rule) for allowed in violation.allowed)
