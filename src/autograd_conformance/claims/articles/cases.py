"""What the articles' files share: how programs and cases are written, and the kinds of error by short names."""

from __future__ import annotations

from dataclasses import replace

from autograd_conformance.claims.articles.claim import Case, Prediction
from autograd_conformance.programs.observations import Kind

FREED = Kind.GRAPH_FREED
NO_GRAD = Kind.NO_GRAD
MODIFIED = Kind.MODIFIED


def program(text: str) -> str:
    """A program whose instructions stand between semicolons or on lines of their own, one a line."""
    statements = [part.strip() for line in text.splitlines() for part in line.split(";")]
    return "\n".join(filter(None, statements))


def case(text: str, *predicts: Prediction, note: str = "") -> Case:
    """A case from a program's text."""
    return Case(program(text), predicts, note)


def quoted(text: str, *predicts: Prediction, note: str = "the article's example") -> Case:
    """A case that is an example of the article's own; a test compares it with the article's examples."""
    return replace(case(text, *predicts, note=note), quoted=True)
