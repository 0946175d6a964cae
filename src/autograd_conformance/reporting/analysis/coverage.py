"""Coverage of a run: pairs of an op and a later action (such as `backward`), counted over the programs it ran."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from autograd_conformance.reporting.records.records import Coverage, Report


@dataclass(frozen=True, slots=True)
class ActionCoverage:
    """Coverage of one action."""

    name: str
    ops: int
    """Number of ops that the action followed in some program."""
    fewest_programs: int
    """Number of programs for the rarest of these ops."""
    missing: tuple[str, ...]
    """Ops that the action never followed."""


@dataclass(frozen=True, slots=True)
class CoverageTable:
    """Coverage of all pairs of an op and an action."""

    ops: int
    """Number of ops."""
    actions: tuple[ActionCoverage, ...]
    settings: tuple[tuple[str, int], ...]
    """For each dtype and grad mode, the number of pairs that occurred in it."""

    @property
    def pairs(self) -> int:
        """Number of pairs."""
        return self.ops * len(self.actions)

    @property
    def covered(self) -> int:
        """Number of pairs that occurred in some program."""
        return sum(action.ops for action in self.actions)


def coverage_table(report: Report) -> CoverageTable | None:
    """The coverage of a run; None if the run recorded no coverage. Actions with the fewest ops come first."""
    if not report.coverage:
        return None
    total = {record.op: _total(record) for record in report.coverage}
    names = sorted({action for counts in total.values() for action in counts})
    actions = []
    for name in names:
        found = [counts[name] for counts in total.values() if name in counts]
        never = tuple(op for op, counts in total.items() if name not in counts)
        actions.append(ActionCoverage(name, len(found), min(found), never))
    settings: Counter[str] = Counter()
    for record in report.coverage:
        for each in record.met:
            settings[f"{each.dtype}, {'recorded' if each.recorded else 'not recorded'}"] += len(each.actions)
    ordered = tuple(sorted(actions, key=lambda action: (action.ops, action.name)))
    return CoverageTable(len(total), ordered, tuple(sorted(settings.items())))


def _total(record: Coverage) -> Counter[str]:
    counts: Counter[str] = Counter()
    for each in record.met:
        counts.update(each.actions)
    return counts
