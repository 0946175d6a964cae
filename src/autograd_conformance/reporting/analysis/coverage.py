"""Which ops met which actions in a run: coverage as evidence, made from the run's own counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from autograd_conformance.reporting.records.records import Coverage, Report


@dataclass(frozen=True, slots=True)
class ActionCoverage:
    """One action: how many of the ops it came after, in how many programs an op at least, and the ops it never met."""

    name: str
    ops: int
    fewest_programs: int
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CoverageTable:
    """All pairs of an op and an action: how many there are, how many met, by action and by setting.

    `settings` counts, for each dtype and grad mode, the pairs that met in it.
    """

    ops: int
    actions: tuple[ActionCoverage, ...]
    settings: tuple[tuple[str, int], ...]

    @property
    def pairs(self) -> int:
        """How many pairs there are."""
        return self.ops * len(self.actions)

    @property
    def covered(self) -> int:
        """How many pairs met."""
        return sum(action.ops for action in self.actions)


def coverage_table(report: Report) -> CoverageTable | None:
    """What a run's ops met; None where it counted nothing. Actions that met the fewest ops come first."""
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
