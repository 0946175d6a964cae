"""Recorded programs: drawn programs that together have every interaction that was ever drawn, as data.

A run that draws programs leaves rare interactions to chance. The recorded programs have them all: the first ones all
pairs of facts, the others also all triples. `python -m evaluation.recorded` chose them among many that the tests drew,
always the one that adds most.
"""

from __future__ import annotations

import gzip
import json
import zlib
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.language import Program

PROGRAMS = Path(__file__).with_name("recorded.jsonl.gz")
"""The file of the recorded programs: a line about all of them, then a line of JSON for each."""

FORMAT = 1
"""The version of the file's format."""

PART = 50
"""Number of programs that one test runs."""


class DamagedPrograms(Exception):
    """The file of recorded programs cannot be read."""


class Recorded(NamedTuple):
    """The recorded programs, as lines of JSON."""

    lines: tuple[str, ...]
    pairs: int
    """Number of programs, from the first, that have all pairs of facts."""
    quick: int
    """Number of programs, from the first, that have nearly all triples of facts: those that a quick run runs."""

    def parts(self, whole: bool) -> int:
        """Returns the number of parts of at most `PART` programs: those of all programs, or those of a quick run."""
        return -(-(len(self.lines) if whole else self.quick) // PART)

    def part(self, number: int) -> list[Program]:
        """Returns the programs of a part."""
        return [self.program(at) for at in range(number * PART, min((number + 1) * PART, len(self.lines)))]

    def program(self, at: int) -> Program:
        """Returns one of the programs."""
        return codec.loads(self.lines[at], VOCABULARY)


@lru_cache(maxsize=1)
def recorded() -> Recorded:
    """Returns the recorded programs. Raises `DamagedPrograms` if the file is damaged or of another version."""
    return read(PROGRAMS)


def read(path: Path) -> Recorded:
    """Reads a file of recorded programs. Raises `DamagedPrograms` if it is damaged or of another version."""
    try:
        first, *lines = gzip.decompress(path.read_bytes()).decode().splitlines()
        about = json.loads(first)
        found = Recorded(tuple(lines), about["pairs"], about["quick"])
        if about["format"] != FORMAT:
            raise DamagedPrograms(f"{path}: format {about['format']}; this version of the suite reads {FORMAT}")
        if about["programs"] != len(lines):
            raise DamagedPrograms(f"{path}: it has {len(lines)} programs in place of {about['programs']}")
    except (OSError, EOFError, zlib.error, ValueError, LookupError, TypeError) as error:
        raise DamagedPrograms(f"{path}: {error}; install the suite again") from None
    return found


def write(path: Path, recorded: Recorded) -> None:
    """Writes a file of recorded programs."""
    counts = {"programs": len(recorded.lines), "pairs": recorded.pairs, "quick": recorded.quick}
    about = {"format": FORMAT, **counts}
    text = "\n".join([json.dumps(about), *recorded.lines, ""])
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
