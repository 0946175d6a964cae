"""The terms that records share: levels, verdicts, conclusions, sources, and which fields came later.

What each verdict and each conclusion means stands in `reporting.analysis.verdicts`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Level = Literal["MUST", "SHOULD", "INFO"]
FailureVerdict = Literal["fail", "crash", "timeout", "flaky"]
InconclusiveVerdict = Literal["adapter bug", "cannot be told", "error"]
Outcome = Literal[
    "pass",
    "fail",
    "known difference",
    "not applicable",
    "vacuous",
    "crash",
    "timeout",
    "flaky",
    "adapter bug",
    "cannot be told",
    "error",
    "skipped",
    "cut short",
]
"""What came of one test."""

Verdict = Literal[
    "pass",
    "fail",
    "known difference",
    "not applicable",
    "vacuous",
    "crash",
    "timeout",
    "flaky",
    "adapter bug",
    "cannot be told",
    "error",
    "skipped",
    "not reached",
    "info",
]
"""What a run says of one rule, or of one op."""

Conclusion = Literal[
    "conformant", "conformant with known differences", "selection passed", "not conformant", "no verdict"
]
"""What a run says of the framework: its headline."""

FAILURE_VERDICTS: tuple[FailureVerdict, ...] = get_args(FailureVerdict)
"""The verdicts that speak against a framework, worst first."""

INCONCLUSIVE: tuple[InconclusiveVerdict, ...] = get_args(InconclusiveVerdict)
"""The verdicts of tests that went wrong and say nothing about the framework, the one that says whose fault first."""

LATER = {"later": True}
"""Marks a field that came after the first form of its record: it is left out of the JSON form where it says nothing."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a rule comes from: a document's title, and the section or address in it."""

    title: str
    where: str
