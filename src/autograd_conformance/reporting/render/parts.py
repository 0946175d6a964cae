"""What a failure shows, as data: its parts in the one order in which every rendering shows them.

The order is an argument: which rule, what it allows and what happened, in which program (and against which other one,
where the rule relates two), why that program forces the expected value, how wrong the value is, what the cause may be,
what makes it go away, and how to see it oneself. A script whose lines bear their numbers is the program that is shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from autograd_conformance.reporting.records.failure import (
    Allowed,
    Confirmation,
    ErrorSize,
    ExplanationStep,
    Failure,
    Votes,
)
from autograd_conformance.reporting.records.flow import GradientFlow, first_wrong_gradient
from autograd_conformance.reporting.records.terms import Source


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """The rule that is broken, in its own words, and the test that found it."""

    rule: str
    level: str
    verdict: str
    sentence: str
    sources: tuple[Source, ...]
    test: str
    op: str | None


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What the rules allow, each with the rule it rests on, against what was observed."""

    allowed: tuple[Allowed, ...]
    observed: str


@dataclass(frozen=True, slots=True)
class LoopProgram:
    """The shrunk program as a person would write it: its repetitions as loops."""

    text: str


@dataclass(frozen=True, slots=True)
class Listing:
    """The shrunk program's lines in the framework's own code; `at` is the failing line, from 1.

    It is `unrolled` where the program is shown with loops, too: then it is there for what refers to its lines.
    """

    lines: tuple[str, ...]
    at: int | None
    unrolled: bool = False


@dataclass(frozen=True, slots=True)
class Other:
    """The lines of the program that the listed one ought to agree with."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Why:
    """Why each step forces the expected value."""

    steps: tuple[ExplanationStep, ...]


@dataclass(frozen=True, slots=True)
class Measure:
    """The error in units of its bound, and the three votes; at least one of them is known."""

    error: ErrorSize | None
    votes: Votes | None


@dataclass(frozen=True, slots=True)
class GradientPath:
    """How the gradient went through the failing call."""

    flow: GradientFlow

    @property
    def sentence(self) -> str:
        """The first gradient that is wrong, in words; empty where none was seen to be, or no other was seen before."""
        seen = [each for each in self.flow.gradients if each.right is not None]
        return first_wrong_gradient(self.flow) if len(seen) > 1 else ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What the cause may be."""

    text: str


@dataclass(frozen=True, slots=True)
class Variation:
    """The nearest variation of the program that passes."""

    text: str


@dataclass(frozen=True, slots=True)
class Script:
    """The program as a script for the framework alone, whose last lines print what is wrong."""

    text: str
    form: Literal["program", "unrolled", "script"] = "program"
    """Whether it is the program that is shown, or that beside the one with loops, or stands beside a listing."""


@dataclass(frozen=True, slots=True)
class Rerun:
    """What came of it when it was run again, alone."""

    alone: Confirmation


@dataclass(frozen=True, slots=True)
class Replay:
    """The command that runs the program again under the suite, and the file that holds it; one is known."""

    command: str | None
    path: str | None


FailurePart = (
    BrokenRule
    | Outcomes
    | LoopProgram
    | Listing
    | Other
    | Script
    | Why
    | Measure
    | GradientPath
    | Diagnosis
    | Variation
    | Rerun
    | Replay
)


def parts(failure: Failure) -> tuple[FailurePart, ...]:
    """The parts of a failure in their order, without those that are not known."""
    f = failure
    lines = tuple(f.code.rstrip("\n").split("\n"))
    whole = bool(re.search(r"  # 1\b", f.script))
    at = None if f.at is None or f.at >= len(lines) else f.at + 1
    everything: tuple[FailurePart | None, ...] = (
        BrokenRule(f.rule, f.level, f.verdict, f.sentence, f.sources, f.test, f.op),
        Outcomes(f.allowed, f.observed),
        LoopProgram(f.loop) if f.loop.strip() else None,
        Listing(lines, at, bool(f.loop.strip())) if f.code.strip() and not whole and _needed(f) else None,
        Other(tuple(f.other.rstrip("\n").split("\n"))) if f.other and not whole else None,
        Script(f.script, _form(f, whole)) if f.script.strip() else None,
        Why(f.why) if f.why else None,
        Measure(f.error, f.votes) if f.error or f.votes else None,
        GradientPath(f.flow) if f.flow else None,
        Diagnosis(f.diagnosis) if f.diagnosis else None,
        Variation(f.variation) if f.variation else None,
        Rerun(f.alone) if f.alone else None,
        Replay(f.command, f.replay) if f.command or f.replay else None,
    )
    return tuple(part for part in everything if part is not None)


def by_name(failure: Failure) -> dict[str, FailurePart | None]:
    """The parts by their names in small letters, for templates; None where a part is not known."""
    known = {type(part): part for part in parts(failure)}
    return {re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower(): known.get(kind) for kind in get_args(FailurePart)}


def _form(f: Failure, whole: bool) -> Literal["program", "unrolled", "script"]:
    """What a script is: the program, if its lines bear their numbers."""
    return "script" if not whole else "unrolled" if f.loop.strip() else "program"


def _needed(f: Failure) -> bool:
    """Whether the program has to be shown line by line: there is no other form of it, or something refers to lines."""
    told = (f.observed, f.diagnosis or "", f.variation or "", *(each.outcome for each in f.allowed))
    return not f.loop.strip() or bool(f.why) or any(re.search(r"\blines? \d", text) for text in told)
