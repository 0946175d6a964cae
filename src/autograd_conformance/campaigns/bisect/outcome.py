"""What came of a finding's program in one version of a framework, and what trials of several versions come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autograd_conformance.campaigns.bisect.search import Outcome, changes
from autograd_conformance.reporting.render.bisected import Bisected, VersionRow


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of a finding's program in one version."""

    outcome: Outcome
    detail: str
    """What was observed, or why the version cannot tell."""
    title: str = ""
    """What the framework calls itself, with its version."""


def bisected(finding: str, framework: str, labels: Sequence[str], trials: Mapping[int, Trial]) -> Bisected:
    """What the trials of some versions, which are numbers from 0, the oldest, on, come to."""
    rows = []
    for number, label in enumerate(labels):
        trial = trials.get(number)
        rows.append(VersionRow(label, *((trial.outcome, trial.detail, trial.title) if trial else ())))
    found = changes({at: trial.outcome for at, trial in trials.items()})
    named = tuple((labels[each.older], labels[each.newer], each.began) for each in found)
    return Bisected(finding, framework, tuple(rows), named)
