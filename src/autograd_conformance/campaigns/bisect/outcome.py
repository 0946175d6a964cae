"""The outcome of a finding's program in one version of a framework, and the summary over several versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autograd_conformance.campaigns.bisect.search import Outcome, changes
from autograd_conformance.reporting.render.bisected import Bisected, VersionRow


@dataclass(frozen=True, slots=True)
class Trial:
    """The outcome of running a finding's program in one version."""

    outcome: Outcome
    detail: str
    """The text of the observed behaviour, such as "it passes", or the reason why the version is skipped."""
    title: str = ""
    """The name and version that the framework reports; empty if the framework was not loaded."""


def bisected(finding: str, framework: str, labels: Sequence[str], trials: Mapping[int, Trial]) -> Bisected:
    """Returns a table of the outcomes of one failure's program in several versions of a framework, and the versions
    between which the outcome changes. Versions are numbered from 0, the oldest first.
    """
    rows = []
    for number, label in enumerate(labels):
        trial = trials.get(number)
        rows.append(VersionRow(label, *((trial.outcome, trial.detail, trial.title) if trial else ())))
    found = changes({at: trial.outcome for at, trial in trials.items()})
    named = tuple((labels[each.older], labels[each.newer], each.began) for each in found)
    return Bisected(finding, framework, tuple(rows), named)
