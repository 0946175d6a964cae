"""The bases of all observed and expected behaviours. A subclass has its words as class attributes.

The words are templates: `{self.shape}` is replaced with the field `shape`. No code reads the texts.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar, Literal

Severity = Literal["value", "lost error", "wrong error", "form"]
"""Damage to the user, the worst first: wrong numbers, a missing error, an unexpected error, wrong dtypes or memory."""


class Expected:
    """A behaviour that a rule requires or permits."""

    __slots__ = ()

    expected_clause: ClassVar[str]
    """The behaviour as a clause: "the leaf holds zeros"."""
    required_clause: ClassVar[str] = ""
    """The behaviour as a requirement: "{subject} has to hold zeros". If empty, the expected clause is used."""

    def expected_text(self) -> str:
        """The behaviour as a clause."""
        return self.expected_clause.format(self=self)

    def required_text(self, subject: str) -> str:
        """The clause that says what the rule requires of a named value, leaf or hook."""
        return self.required_clause.format(subject=subject) if self.required_clause else self.expected_text()


class Observed:
    """A behaviour of a framework that differs from the rules."""

    __slots__ = ()

    observed_clause: ClassVar[str]
    """The behaviour as a clause: "the leaf holds no gradient"."""
    subject_clause: ClassVar[str] = ""
    """The clause for a subject that was named before: "it is none". If empty, the observed clause is used."""
    category: ClassVar[str]
    """The kind of difference, in words that records hold and that never change."""
    severity: ClassVar[Severity] = "value"

    def observed_text(self) -> str:
        """The behaviour as a clause."""
        return self.observed_clause.format(self=self)

    def subject_text(self) -> str:
        """The behaviour as a clause about a value, leaf or hook that was named before."""
        return self.subject_clause.format(self=self) if self.subject_clause else self.observed_text()

    def category_text(self) -> str:
        """The kind of difference, in the words of records."""
        return self.category.format(self=self)

    def severity_among(self, expected: Collection[Expected]) -> Severity:
        """The damage to the user where the rules allow these behaviours."""
        return self.severity

    def error_among(self, expected: Collection[Expected]) -> str | None:
        """The kind of the missing or unexpected error where the rules allow these behaviours; None if the difference is
        not about errors.
        """
        return None

    def is_about_hook(self) -> bool:
        """Whether the difference is about a hook: whether, how often, in which order or with which gradient it was
        called.
        """
        return False
