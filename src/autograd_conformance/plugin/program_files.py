"""The program files that `--replay` and `--program` name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from autograd_conformance.checking.session.framework import FrameworkUnderTest
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.formats.parser import UNWRITTEN, parse
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.validation import MalformedProgram


@dataclass(frozen=True, slots=True)
class ProgramFile:
    """The facts about a program file besides its path."""

    brief: bool = False
    """Whether its failure is not printed: for a file of a folder."""
    text: str = ""
    """The program in the suite's notation, if the file was made from it."""


def files_of(given: Sequence[str], programs: Sequence[str], report: Path) -> dict[Path, ProgramFile]:
    """Returns the program files to replay: given files, those in given folders, and one written to the folder of the
    report for each program in the suite's notation.

    Raises `pytest.UsageError` if a folder has no such file, or a text is no program.
    """
    files: dict[Path, ProgramFile] = {}
    for name in map(Path, given):
        inside = sorted(name.glob("*.json")) if name.is_dir() else []
        if name.is_dir() and not inside:
            raise pytest.UsageError(f"--replay={name}: the folder has no program files (*.json)")
        files |= dict.fromkeys(inside, ProgramFile(brief=True)) if inside else {name: ProgramFile()}
    for number, text in enumerate(programs, 1):
        path = report / "replay" / f"program-{number}.json"
        try:
            _write(parse(text, VOCABULARY), path)
        except MalformedProgram as error:
            raise pytest.UsageError(f"--program: {error}") from None
        except OSError as error:
            raise pytest.UsageError(f"--program: {error.filename}: {error.strerror}") from None
        files[path] = ProgramFile(text=text)
    return files


def adapt(path: Path, file: ProgramFile, framework: FrameworkUnderTest) -> None:
    """Writes a file again, and says so, if it was made from a text whose numbers have no dtype and the framework lacks
    the usual one: with the first of its dtypes that the run tests.
    """
    if not file.text or UNWRITTEN in framework.target.dtypes:
        return
    there = framework.drawable[0]
    program = parse(file.text, VOCABULARY, there)
    if program != parse(file.text, VOCABULARY):
        print(f"{framework.target.name} lacks {UNWRITTEN}, so numbers without a dtype are {there}")
        _write(program, path)


def _write(program: Program, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(codec.to_json(program), indent=1) + "\n", encoding="utf-8")
