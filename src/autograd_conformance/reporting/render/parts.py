"""Parts of a failure's presentation, in the order in which all reports show them.

The order is: the rule; allowed and observed outcomes; the program (and the program that must agree with it); the
reasons for the expected value; the size of the error; a possible cause; the nearest program that passes; and the
commands that reproduce the failure. A script with numbered lines is shown instead of the program.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import get_args

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
    """The rule that a failure breaks, with the rule's text and sources, and the test that found the failure."""

    rule: str
    level: str
    verdict: str
    sentence: str
    sources: tuple[Source, ...]
    test: str
    op: str | None


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The allowed outcomes, each with its rule, and the observed outcome."""

    allowed: tuple[Allowed, ...]
    observed: str


@dataclass(frozen=True, slots=True)
class LoopProgram:
    """Code of a failure's program, with repetitions written as loops."""

    text: str
    title: str
    """Heading in reports."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Lines of a failure's program in the framework's own code, one for each instruction."""

    lines: tuple[str, ...]
    at: int | None
    """The failing line, from 1; None if it is not known."""
    title: str
    """Heading in reports."""


@dataclass(frozen=True, slots=True)
class Other:
    """Lines of the second program of a failure, with which the first program must agree."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Why:
    """The explanation of a failure: steps that derive the expected outcome from lines of the program."""

    steps: tuple[ExplanationStep, ...]


@dataclass(frozen=True, slots=True)
class Measure:
    """Size of a failure's numerical error, and the values that the framework, the reference and finite differences
    computed; at least one of the two is known.
    """

    error: ErrorSize | None
    votes: Votes | None
    votes_title: str = "What this call computed"
    """Heading of the votes in reports: a leaf may hold more than the call added."""


@dataclass(frozen=True, slots=True)
class GradientPath:
    """Gradients that the failing call computed."""

    flow: GradientFlow

    @property
    def sentence(self) -> str:
        """Sentence about the first wrong gradient; empty if none is wrong or fewer than two gradients were observed."""
        observed = [each for each in self.flow.gradients if each.right is not None]
        return first_wrong_gradient(self.flow) if len(observed) > 1 else ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A possible cause of the failure."""

    text: str


@dataclass(frozen=True, slots=True)
class Variation:
    """The nearest variant of the program that passes."""

    text: str


@dataclass(frozen=True, slots=True)
class Script:
    """A script that needs only the framework and prints the violation at its end."""

    text: str
    title: str
    """Heading in reports."""
    is_program: bool
    """Whether reports show the script as the program itself, and not after a listing or a program with loops."""


@dataclass(frozen=True, slots=True)
class Rerun:
    """Result of running the failure again in fresh processes."""

    alone: Confirmation


@dataclass(frozen=True, slots=True)
class Replay:
    """Command that replays the program, and path of its file; at least one is known."""

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
    """Returns the known parts of a failure's report, in the order in which all reports show them."""
    f = failure
    lines = tuple(f.code.rstrip("\n").split("\n"))
    whole = bool(re.search(r"  # 1\b", f.script))
    at = None if f.at is None or f.at >= len(lines) else f.at + 1
    name, has_loop = _program_title(f), bool(f.loop.strip())
    unrolled = "Line by line" if has_loop else name
    everything: tuple[FailurePart | None, ...] = (
        BrokenRule(f.rule, f.level, f.verdict, f.sentence, f.sources, f.test, f.op),
        Outcomes(f.allowed, f.observed),
        LoopProgram(f.loop, f"{name}, as a loop") if has_loop else None,
        Listing(lines, at, unrolled) if f.code.strip() and not whole and _needed(f) else None,
        Other(tuple(f.other.rstrip("\n").split("\n"))) if f.other and not whole else None,
        Script(f.script, unrolled if whole else "The same as a script", whole and not has_loop)
        if f.script.strip()
        else None,
        Why(f.why) if f.why else None,
        Measure(f.error, f.votes, _votes_title(f)) if f.error or f.votes else None,
        GradientPath(f.flow) if f.flow else None,
        Diagnosis(f.diagnosis) if f.diagnosis else None,
        Variation(f"the program {f.variation}") if f.variation else None,
        Rerun(f.alone) if f.alone else None,
        Replay(f.command, f.replay) if f.command or f.replay else None,
    )
    return tuple(part for part in everything if part is not None)


def by_name(failure: Failure) -> dict[str, FailurePart | None]:
    """Returns a dictionary from the name of every part of a failure's report (``broken_rule``, ``outcomes``, ...) to
    the part, or to None if this failure lacks the part; the page templates read it.
    """
    known = {type(part): part for part in parts(failure)}
    return {re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower(): known.get(kind) for kind in get_args(FailurePart)}


def _program_title(f: Failure) -> str:
    """Returns the heading of a failure's program, which says whether the program was reduced."""
    if f.ends_process:
        return "The program that was running"
    if f.test.startswith("audit["):
        return "The program found by the check of each op alone"
    return "The program in which it was found, not reduced" if f.counted else "The shortest program found"


def _votes_title(f: Failure) -> str:
    """Returns what the values of a failure's votes are."""
    is_held = f.deviation is not None and f.deviation.what == "other gradient, leaf"
    return "What this call added" if is_held else "What this call computed"


def _needed(f: Failure) -> bool:
    """Whether a listing is needed: the program has no form with loops, or a text refers to line numbers."""
    texts = (f.observed, f.diagnosis or "", f.variation or "", *(each.outcome for each in f.allowed))
    return not f.loop.strip() or bool(f.why) or any(re.search(r"\blines? \d", text) for text in texts)
