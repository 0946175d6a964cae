"""Helpers with which the files of the articles write programs and cases in short form, and short names of error
kinds.
"""

from __future__ import annotations

from dataclasses import replace

from autograd_conformance.claims.articles.claim import Case, Prediction
from autograd_conformance.programs.observations import Kind

FREED = Kind.GRAPH_FREED
NO_GRAD = Kind.NO_GRAD
MODIFIED = Kind.MODIFIED


def program(text: str) -> str:
    """Puts the instructions of a program, which semicolons or line ends separate, on one line each."""
    statements = [part.strip() for line in text.splitlines() for part in line.split(";")]
    return "\n".join(filter(None, statements))


def case(text: str, *predicts: Prediction, note: str = "") -> Case:
    """Makes a case from the text of a program and the article's predictions for its lines."""
    return Case(program(text), predicts, note)


def quoted(text: str, *predicts: Prediction, note: str = "the article's example") -> Case:
    """Makes a case whose program is one of the article's own examples, as a test checks."""
    return replace(case(text, *predicts, note=note), quoted=True)
