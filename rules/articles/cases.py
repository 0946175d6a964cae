"""What the articles' files share: how a case is written, and the kinds of error by short names."""

from __future__ import annotations

from autograd_conformance.programs.observations import Kind
from autograd_conformance.rules.articles.claim import Case, Prediction

FREED = Kind.GRAPH_FREED
NO_GRAD = Kind.NO_GRAD
MODIFIED = Kind.MODIFIED


def case(program: str, *predicts: Prediction, note: str = "") -> Case:
    """A case from a program whose instructions stand between semicolons or on lines of their own."""
    statements = [part.strip() for line in program.splitlines() for part in line.split(";")]
    return Case("\n".join(filter(None, statements)), predicts, note)
