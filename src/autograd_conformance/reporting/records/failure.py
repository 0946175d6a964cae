"""Failures as records: what broke a rule, in which way, and everything that explains it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from autograd_conformance.reporting.records.flow import GradientFlow
from autograd_conformance.reporting.records.terms import LATER, FailureVerdict, Level, Source


@dataclass(frozen=True, slots=True)
class Allowed:
    """An outcome that the rules allow, and the slug of the rule that it rests on."""

    outcome: str
    rule: str


@dataclass(frozen=True, slots=True)
class ExplanationStep:
    """One step of an explanation: what the given line of the code forces (lines count from 1)."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class ErrorSize:
    """How far a value is from the right one: the largest absolute error, its bound, and their quotient in `units`."""

    largest: float
    bound: float
    units: float


@dataclass(frozen=True, slots=True)
class Votes:
    """The three votes on a value, and what they decide together."""

    framework: str
    reference: str
    finite_differences: str
    decision: str


@dataclass(frozen=True, slots=True)
class LineGroup:
    """Lines of a program that belong together: a `unit` is run as one, an `iteration` is one of a loop's."""

    kind: Literal["unit", "iteration"]
    lines: tuple[int, ...]


Severity = Literal["value", "crash", "lost error", "wrong error", "form"]
"""What a failure costs the user, worst first: silently wrong numbers, an ended or hanging process, an error that had to
be raised and was not, an error that is not the right one, and last dtypes, layouts, flags and memory.
"""


@dataclass(frozen=True, slots=True)
class Category:
    """In which way a framework differs from the rules, as words that never change."""

    severity: Severity
    """How bad it is."""
    what: str
    """The kind of difference: ``other gradient``, ``returned``."""
    error: str | None = None
    """The kind of the error that was due, where none was raised, or that was raised, where it may not be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """What came of a failure in processes of its own, where nothing else had run.

    Its program was run `runs` times in one, none where the run's time was over, and failed as it had before in `failed`
    of them. Where that is none, `after` is how many of the programs that had run before have to run first, in the
    shortest sequence that was found; None where it failed after none. `printed` is what the script printed in another
    process, and `trouble` how that ended, where it did not end well. `code` says whether the program's printed code
    fails as it does, run line by line in place of the adapter's calls and judged by the same rules; None where that was
    not tried or cannot be seen. `hashes` is the seed of Python's hashes that it takes, where it did not fail with
    another one.
    """

    runs: int
    failed: int
    after: int | None = None
    printed: str = ""
    trouble: str | None = None
    code: bool | None = None
    hashes: str | None = field(default=None, metadata=LATER)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartViolation:
    """What one of two related programs breaks by itself: `at` is the index of the failing instruction, `flow` says how
    the gradient went through it.
    """

    rule: str
    op: str | None = None
    deviation: Category
    diagnosis: str | None = None
    second: bool = field(default=False, metadata=LATER)
    at: int | None = field(default=None, metadata=LATER)
    flow: GradientFlow | None = field(default=None, metadata=LATER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One way in which the framework breaks a rule: the shrunk program and everything that explains it.

    `program` is the program's JSON form and `at` the index of the failing instruction. `code` is the same program in
    the framework's own code, one line per instruction, so that instruction `at` stands on line ``at + 1``; `loop` is
    that with its repetitions as loops, to be run as it stands, empty where nothing repeats, and `other` the code of the
    program that it ought to agree with, where the rule relates two (`program` then holds both). `variation` is a phrase
    such as ``passes with foreach=False``. `script` is the program with the framework alone, its lines numbered in
    comments, and prints what is wrong; it is empty where the framework has no code of its own. `replay` is a program
    file's path, `command` the command that runs it again. `alone` says whether it fails where nothing else ran.
    `deviation` is `observed` as data, and `cured` names the ops without which the program does not show it: each was
    tried. `flow` says how the gradient went through the failing call, and `groups` which lines belong together. `parts`
    is what programs that a rule relates break by themselves. What is not known is None, and reports leave it out.
    """

    verdict: FailureVerdict
    rule: str
    level: Level
    sentence: str
    sources: tuple[Source, ...] = ()
    test: str
    op: str | None = None
    program: Mapping[str, Any]
    at: int | None = None
    observed: str
    allowed: tuple[Allowed, ...] = ()
    code: str
    loop: str = ""
    other: str | None = None
    why: tuple[ExplanationStep, ...] = ()
    error: ErrorSize | None = None
    votes: Votes | None = None
    diagnosis: str | None = None
    variation: str | None = None
    script: str
    replay: str | None = None
    command: str | None = None
    alone: Confirmation | None = field(default=None, metadata=LATER)
    deviation: Category | None = field(default=None, metadata=LATER)
    cured: tuple[str, ...] = field(default=(), metadata=LATER)
    flow: GradientFlow | None = field(default=None, metadata=LATER)
    groups: tuple[LineGroup, ...] = field(default=(), metadata=LATER)
    parts: tuple[PartViolation, ...] = field(default=(), metadata=LATER)
