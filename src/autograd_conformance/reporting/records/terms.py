"""Words that several records use: levels, verdicts, conclusions, sources.

`reporting.analysis.verdicts` has the meaning of each verdict and conclusion.
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
    "waiting",
    "cut short",
]
"""Outcomes that a test can have; unlike a rule, a test can be *cut short*."""

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
    "waiting",
    "not reached",
    "info",
]
"""Verdicts on a rule or an op; unlike a test, a rule can be *info* (not judged) or *not reached*."""

Conclusion = Literal[
    "conformant", "conformant with known differences", "selection passed", "not conformant", "no verdict"
]
"""Conclusion about the framework: the headline of a run."""

FAILURE_VERDICTS: tuple[FailureVerdict, ...] = get_args(FailureVerdict)
"""Verdicts that are failures of the framework, the worst first."""

INCONCLUSIVE: tuple[InconclusiveVerdict, ...] = get_args(InconclusiveVerdict)
"""Verdicts of tests that ended in an error and say nothing about the framework, the most specific first."""

Budget = Literal["programs", "seconds"]
"""A budget of a run: ``--programs`` or ``--seconds``."""

UNKNOWN_ERROR = "raised one that the adapter's classify() does not know"
"""Words of each note about an error that the adapter's `classify` does not know."""

LATER = {"later": True}
"""Metadata of a field that was added after the first version of its record; JSON leaves it out if it is empty."""


@dataclass(frozen=True, slots=True)
class Source:
    """Source of a rule: a document's title, with a section or an address."""

    title: str
    where: str
