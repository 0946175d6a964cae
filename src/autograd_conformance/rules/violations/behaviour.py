"""The base classes of behaviours: `Observed` is what a framework did, `Expected` is what a rule requires or permits
instead.

A subclass has its English texts as class attributes. The texts are templates: `{self.shape}` is replaced with the field
`shape`. No code reads the texts.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar, Literal

Severity = Literal["value", "lost error", "wrong error", "form"]
"""The damage that a violation does to the user, the worst first: wrong numbers, a missing error, an unexpected error,
wrong dtypes or memory.
"""


class Expected:
    """A behaviour that a rule requires or permits."""

    __slots__ = ()

    expected_clause: ClassVar[str]
    """The behaviour as a clause: "the leaf holds zeros"."""
    required_clause: ClassVar[str] = ""
    """The behaviour as a requirement: "{subject} has to hold zeros". If empty, the expected clause is used."""

    def expected_text(self) -> str:
        """Returns the behaviour as a clause, such as "the leaf holds zeros"."""
        return self.expected_clause.format(self=self)

    def required_text(self, subject: str) -> str:
        """Returns the requirement on a named value, leaf or hook as a clause, such as "x has to hold zeros"."""
        return self.required_clause.format(subject=subject) if self.required_clause else self.expected_text()


class Observed:
    """A behaviour of a framework that differs from the rules."""

    __slots__ = ()

    observed_clause: ClassVar[str]
    """The behaviour as a clause: "the leaf holds no gradient"."""
    subject_clause: ClassVar[str] = ""
    """The clause for a subject that was named before: "it is none". If empty, the observed clause is used."""
    category: ClassVar[str]
    """The kind of difference, as the text that records contain and that never changes: "no gradient"."""
    severity: ClassVar[Severity] = "value"

    def observed_text(self) -> str:
        """Returns the behaviour as a clause, such as "the leaf holds no gradient"."""
        return self.observed_clause.format(self=self)

    def subject_text(self) -> str:
        """Returns the behaviour as a clause about a subject (value, leaf or hook) that the sentence named before, such
        as "it is none".
        """
        return self.subject_clause.format(self=self) if self.subject_clause else self.observed_text()

    def category_text(self) -> str:
        """Returns the kind of difference, as the text that records contain: "no gradient"."""
        return self.category.format(self=self)

    def severity_among(self, expected: Collection[Expected]) -> Severity:
        """Returns the damage that this behaviour does to the user, if `expected` are the behaviours that the rules
        allow instead.
        """
        return self.severity

    def error_among(self, expected: Collection[Expected]) -> str | None:
        """Returns the kind of the missing or unexpected error, if `expected` are the behaviours that the rules allow
        instead; None if the difference is not about errors.
        """
        return None

    def is_about_hook(self) -> bool:
        """Whether the difference is about a hook: whether, how often, in which order or with which gradient it was
        called.
        """
        return False
