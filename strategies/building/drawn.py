"""What a strategy hands on: a program, and the reference whose values it was drawn by."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from autograd_conformance.programs.formats.text import render
from autograd_conformance.programs.language import Program
from autograd_conformance.reference.reference import Reference


@dataclass(frozen=True, slots=True, repr=False)
class Drawn:
    """A drawn program and its reference, so that whoever judges the program need not compute its values again."""

    program: Program

    reference: Reference = field(compare=False)
    """The exact values of the whole program, as if every instruction of it returned."""

    def __repr__(self) -> str:
        """The program's text, where Hypothesis would write out every field."""
        return f"<drawn: {'; '.join(render(self.program).splitlines())}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))
