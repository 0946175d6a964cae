"""Judges one mutant of an engine: with the suite's programs, and with the engine's own tests."""

from __future__ import annotations

import tempfile
import time
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from evaluation.engines.child import Ended, forked
from evaluation.engines.engine import Engine
from evaluation.engines.mutant import copy, put_in_place
from evaluation.engines.mutation import Mutation, difference
from evaluation.engines.programs import Programs, judge, loaded


@dataclass(frozen=True, slots=True)
class Result:
    """The result of the suite's programs for one mutant."""

    file: str
    """The changed file."""
    line: int
    """The changed line."""
    operator: str
    """The operator of the mutation."""
    occurrence: int
    """The number of earlier places in the file to which this operator applies."""
    diff: str
    """The changed lines."""
    outcome: str
    """ "survived", "killed", or how else the mutant ended: "killed: import", "killed: hang", "killed: crash"."""
    test: str | None = None
    """The test that found it."""
    rule: str | None = None
    """The violated rule."""
    op: str | None = None
    """The op that violated it."""
    programs: int = 0
    """Number of programs that ran."""
    seconds: float = 0.0
    """CPU seconds."""


Found = tuple[str, str | None, str | None, str | None, int, float]
"""The outcome, the test, the rule, the op, the number of programs, and the CPU seconds."""


def hunt(engine: Engine, mutation: Mutation, programs: Programs, limit: int) -> Result:
    """Judges a mutant in a forked process. The engine's package must not be changed meanwhile."""
    before = (engine.folder / mutation.file).read_text(encoding="utf-8")
    shown = difference(before, mutation.applied(before))
    with tempfile.TemporaryDirectory() as folder:
        copy(engine, mutation, Path(folder))
        try:
            found: Found = forked(partial(_judged, engine, Path(folder), programs), limit)
        except Ended as how:
            found = (f"killed: {how}", None, None, None, 0, float(limit))
    return Result(mutation.file, mutation.line, mutation.operator, mutation.occurrence, shown, *found)


def _judged(engine: Engine, folder: Path, programs: Programs) -> Found:
    warnings.simplefilter("ignore")
    began = time.process_time()
    try:
        put_in_place(engine, folder)
        framework = loaded(programs)
    except BaseException as error:  # whatever it raises, the engine or its adapter cannot be imported
        return "killed: import", None, type(error).__name__, None, 0, round(time.process_time() - began, 1)
    ran, found = judge(programs, framework)
    spent = round(time.process_time() - began, 1)
    if found is None:
        return "survived", None, None, None, ran, spent
    return "killed", found.test, found.rule, found.op, ran, spent
