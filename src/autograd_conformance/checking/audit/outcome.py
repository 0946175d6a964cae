"""The result of an audit: how many times each op can be differentiated."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from autograd_conformance.reporting.records.failure import Category

SETS = ("wrong", "lost", "missing", "once", "twice")
"""The sets of ops that are left out of programs."""

Outcome = Literal["begun", "wrong", "missing", "once", "twice", "fine"]
"""The outcome of an op, from worst to best. `begun`: its audit did not end. `missing`: the device has no
kernel for it.
"""

MANY = 0.2
"""Part of all ops above which failures are not blamed on the ops themselves."""


@dataclass(frozen=True, slots=True)
class Fault:
    """The violation of one op, with a program that shows it and is not shrunk."""

    program: Mapping[str, Any]
    """JSON form of the program."""
    rule: str
    """The violated rule."""
    observed: str
    """Observed outcome, in words."""
    at: int | None = None
    """Index of the failing instruction; None if the process ended."""
    allowed: tuple[tuple[str, str], ...] = ()
    """The allowed outcomes, in words, each with its rule."""
    deviation: Category | None = None
    """Category of the violation; None if the process ended."""

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> Fault:
        """The fault from JSON data that `asdict` made."""
        deviation = form["deviation"]
        return cls(**{**form, "deviation": deviation and Category(**deviation)})


@dataclass(frozen=True, slots=True)
class AuditResult:
    """The ops that violate a rule on their own, grouped by the lowest order of derivative that fails."""

    wrong: frozenset[str] = frozenset()
    """Ops whose values or first derivatives are wrong."""
    lost: frozenset[str] = frozenset()
    """Ops that ended the process, or timed out."""
    missing: frozenset[str] = frozenset()
    """Ops for which the device has no kernel, or lacks one for some of their forms."""
    once: frozenset[str] = frozenset()
    """Ops whose second derivatives are wrong or not implemented."""
    twice: frozenset[str] = frozenset()
    """Ops whose third derivatives are wrong or not implemented."""
    faults: Mapping[str, Fault] = field(default_factory=dict)
    """The violation of each wrong or lost op."""
    programs: int = 0
    """Number of programs that the audit ran."""

    @classmethod
    def of(cls, outcomes: Mapping[str, Outcome], faults: Mapping[str, Fault]) -> AuditResult:
        """Groups the outcomes of all ops."""

        def having(outcome: Outcome) -> frozenset[str]:
            return frozenset(op for op, found in outcomes.items() if found == outcome)

        wrong, lost = having("wrong"), having("begun")
        bad = {op: fault for op, fault in faults.items() if op in wrong | lost}
        return cls(wrong, lost, having("missing"), having("once"), having("twice"), bad)

    def with_mode(self, mode: AuditResult) -> AuditResult:
        """Merges this result with that of a mode of the framework, whose audit ran only the ops that pass here."""
        return AuditResult(
            self.wrong | mode.wrong,
            self.lost | mode.lost,
            self.missing | mode.missing,
            self.once | mode.once,
            self.twice | mode.twice,
            {**self.faults, **mode.faults},
            self.programs + mode.programs,
        )

    def to_json(self) -> dict[str, list[str]]:
        """The sets as JSON data, for other processes."""
        return {name: sorted(getattr(self, name)) for name in SETS}

    @classmethod
    def from_json(cls, form: Mapping[str, Collection[str]]) -> AuditResult:
        """The sets from JSON data."""
        wrong, lost, missing, once, twice = (frozenset(form[name]) for name in SETS)
        return cls(wrong, lost, missing, once, twice)


NOTHING_FOUND = AuditResult()
"""The result without an audit: no op is left out."""


def ops_at_fault(wrong: Collection[str], ops: Collection[str]) -> frozenset[str]:
    """The ops to leave out of programs: the wrong ones, or none if so many ops are wrong that the cause is not the ops
    themselves.
    """
    return frozenset(wrong) if len(wrong) <= MANY * len(ops) else frozenset()
