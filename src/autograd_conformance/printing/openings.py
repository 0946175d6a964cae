"""The statements that enter modes at the top of a program's script; a dialect may have several, of which each program
gets one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar
from zlib import crc32

from autograd_conformance.printing.dialect import Dialect
from autograd_conformance.programs.language import Program

Choice = TypeVar("Choice")


def chosen(program: Program, choices: Sequence[Choice]) -> Choice:
    """Returns the choice of a program. It depends on the program's first instruction only, so that it stays the same if
    the program is cut short.
    """
    return choices[crc32(repr(program.instructions[:1]).encode()) % len(choices)]


def opening(program: Program, dialect: Dialect) -> str:
    """Returns the statements that a program's script begins with, after the imports; empty if it needs none."""
    return chosen(program, dialect.openings) if dialect.openings else ""
