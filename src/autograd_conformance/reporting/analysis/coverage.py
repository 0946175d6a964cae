"""Coverage of a run: pairs of an op and a later action (an instruction that is not an op, such as ``backward`` or
``hook``), counted over the run's programs.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from autograd_conformance.reporting.records.records import Coverage, Report

ACTION_TEXTS = {
    "backward retaining": "backward with retain_graph", "backward creating": "backward with create_graph",
    "backward into inputs": "backward with inputs", "grad creating": "grad with create_graph", "held": "read .grad",
    "zero": "zero_grad", "assign": "assign .grad", "step": "optimizer step", "clip": "clip gradients",
    "write": "write in place", "switch": "set requires_grad", "retain": "retain_grad", "drop": "del",
}  # fmt: skip
"""Names that reports print for actions (instructions that are not ops) whose name in the records says too little:
``zero`` is printed as ``zero_grad``.
"""


@dataclass(frozen=True, slots=True)
class ActionCoverage:
    """Coverage of one action (an instruction that is not an op, such as ``backward``): the ops after which some program
    of the run has that action.
    """

    name: str
    ops: int
    """Number of ops that the action (such as ``backward``) followed in some program."""
    fewest_programs: int
    """Number of programs in which the action followed the op that it followed most rarely (ops that it never followed
    are in `missing`).
    """
    missing: tuple[str, ...]
    """Names of ops that the action did not follow in any program."""


@dataclass(frozen=True, slots=True)
class CoverageTable:
    """Coverage of all pairs of an op and a later action (an instruction that is not an op, such as ``backward``)."""

    ops: int
    """Number of ops that occurred in some program with a later action."""
    actions: tuple[ActionCoverage, ...]
    settings: tuple[tuple[str, int], ...]
    """The number of pairs that occurred in each dtype and grad mode: ``("float32, recorded", 1200)``."""

    @property
    def pairs(self) -> int:
        """Number of possible pairs of an op and an action."""
        return self.ops * len(self.actions)

    @property
    def covered(self) -> int:
        """Number of pairs of an op and an action that occurred in some program."""
        return sum(action.ops for action in self.actions)


def coverage_table(report: Report) -> CoverageTable | None:
    """Returns the coverage of a run; None if the run recorded no coverage. Actions (such as ``backward``) that followed
    the fewest ops come first.
    """
    if not report.coverage:
        return None
    total = {record.op: _total(record) for record in report.coverage}
    names = sorted({action for counts in total.values() for action in counts})
    actions = []
    for name in names:
        found = [counts[name] for counts in total.values() if name in counts]
        never = tuple(op for op, counts in total.items() if name not in counts)
        actions.append(ActionCoverage(ACTION_TEXTS.get(name, name), len(found), min(found), never))
    settings: Counter[str] = Counter()
    for record in report.coverage:
        for each in record.met:
            settings[f"{each.dtype}{'' if each.recorded else ' under no_grad'}"] += len(each.actions)
    ordered = tuple(sorted(actions, key=lambda action: (action.ops, action.name)))
    return CoverageTable(len(total), ordered, tuple(sorted(settings.items())))


def _total(record: Coverage) -> Counter[str]:
    counts: Counter[str] = Counter()
    for each in record.met:
        counts.update(each.actions)
    return counts
