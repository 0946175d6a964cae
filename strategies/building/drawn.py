"""The result of a strategy: a program with its exact values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from autograd_conformance.programs.formats.text import render
from autograd_conformance.programs.language import Program
from autograd_conformance.reference.reference import Reference


@dataclass(frozen=True, slots=True, repr=False)
class Drawn:
    """A drawn program with its exact values, so that the judge does not have to compute the values again."""

    program: Program

    reference: Reference = field(compare=False)
    """The exact values of the whole program; an instruction that the strategy knew to raise has no effect in it, and
    every other instruction returns.
    """

    def __repr__(self) -> str:
        """Returns the program's text, shorter than a list of all fields."""
        return f"<drawn: {'; '.join(render(self.program).splitlines())}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))
