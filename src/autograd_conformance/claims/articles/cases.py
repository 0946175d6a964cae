"""Helpers of the articles' files: programs and cases in short form, and short names of error kinds."""

from __future__ import annotations

from dataclasses import replace

from autograd_conformance.claims.articles.claim import Case, Prediction
from autograd_conformance.programs.observations import Kind

FREED = Kind.GRAPH_FREED
NO_GRAD = Kind.NO_GRAD
MODIFIED = Kind.MODIFIED


def program(text: str) -> str:
    """A program from instructions that are separated by semicolons or line ends, one on each line."""
    statements = [part.strip() for line in text.splitlines() for part in line.split(";")]
    return "\n".join(filter(None, statements))


def case(text: str, *predicts: Prediction, note: str = "") -> Case:
    """A case from the text of a program."""
    return Case(program(text), predicts, note)


def quoted(text: str, *predicts: Prediction, note: str = "the article's example") -> Case:
    """A case that is one of the article's examples. A test compares it with the examples."""
    return replace(case(text, *predicts, note=note), quoted=True)
