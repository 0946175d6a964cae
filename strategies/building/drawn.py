"""What a strategy hands on: a program, and the reference whose values it was drawn by."""

from __future__ import annotations

from dataclasses import dataclass, field

from autograd_conformance.programs.language import Program
from autograd_conformance.reference.reference import Reference


@dataclass(frozen=True, slots=True)
class Drawn:
    """A drawn program and its reference, so that whoever judges the program need not compute its values again."""

    program: Program

    reference: Reference = field(repr=False, compare=False)
    """The exact values of the whole program, as if every instruction of it returned."""
