"""A vector: a program of the wire's form, with what each of its instructions has to do."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.formats.text import render
from autograd_conformance.programs.language import Program
from autograd_conformance.rules.stages import NUMBER
from autograd_conformance.vectors.expected import Expected

Json = Any

LEVELS = NUMBER["optimizers and networks"] + 1
"""The highest level: the number of the last stage before that of sequences, which are about all stages."""


def id_of(program: Program) -> str:
    """Returns the name of a program's vector, which is the same in every file."""
    return hashlib.sha256(codec.dumps(program).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Vector:
    """A program, with what each of its instructions has to do."""

    program: Program
    rule: str
    """Slug of the rule that the vector counts for; it puts others to the test, too."""
    rules: tuple[str, ...]
    """Slugs of all rules that the vector puts to the test."""
    level: int
    """The number of the last stage that the vector belongs to, from 1 (forward values)."""
    expected: tuple[Expected, ...]

    @property
    def id(self) -> str:
        """The vector's name, which depends on the program alone."""
        return id_of(self.program)

    def to_json(self) -> dict[str, Json]:
        """Returns the vector as a line of a file of vectors."""
        return {
            "id": self.id,
            "level": self.level,
            "rule": self.rule,
            "rules": list(self.rules),
            "text": render(self.program),
            "program": codec.to_json(self.program),
            "expected": [each.to_json() for each in self.expected],
        }


@dataclass(frozen=True, slots=True)
class Question:
    """A vector without what it expects, as far as a judge needs it."""

    id: str
    rule: str
    program: Program

    @staticmethod
    def from_json(form: Json) -> Question:
        """Reads a line of a file of vectors. Raises the errors of a malformed program, or `LookupError`."""
        return Question(str(form["id"]), str(form["rule"]), codec.from_json(form["program"], VOCABULARY))
