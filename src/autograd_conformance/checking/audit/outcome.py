"""What an audit found: how often each op can be differentiated."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from autograd_conformance.reporting.records.failure import Category

SETS = ("wrong", "lost", "missing", "once", "twice")
"""The outcomes for which ops are left out of programs."""

Outcome = Literal["begun", "wrong", "missing", "once", "twice", "fine"]
"""What came of an op, from bad to good; `begun` where its audit never ended, `missing` where it is not there."""

MANY = 0.2
"""The part of all ops beyond which being wrong is no op's own fault."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with an op by itself: a program that shows it, not shrunk."""

    program: Mapping[str, Any]
    """The program's JSON form."""
    rule: str
    """The rule that is broken."""
    observed: str
    """What the framework did, in words."""
    at: int | None = None
    """The number of the instruction that went wrong; None where the process ended."""
    allowed: tuple[tuple[str, str], ...] = ()
    """What it may do there, in words, each with its rule."""
    deviation: Category | None = None
    """What the framework did, as data; None where the process ended."""

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> Fault:
        """The fault of which `asdict` has made plain data."""
        deviation = form["deviation"]
        return cls(**{**form, "deviation": deviation and Category(**deviation)})


@dataclass(frozen=True, slots=True)
class AuditResult:
    """The ops that are not right by themselves: each in the set of the first derivative that it fails at."""

    wrong: frozenset[str] = frozenset()
    """Ops whose values, or first derivatives, are wrong."""
    lost: frozenset[str] = frozenset()
    """Ops that ended the process that ran them, or never came back."""
    missing: frozenset[str] = frozenset()
    """Ops, or some of their forms, that the device has no kernel of."""
    once: frozenset[str] = frozenset()
    """Ops that can be differentiated once: their second derivatives are wrong or not implemented."""
    twice: frozenset[str] = frozenset()
    """Ops that can be differentiated twice: their third derivatives are wrong or not implemented."""
    faults: Mapping[str, Fault] = field(default_factory=dict)
    """What is wrong with each of the wrong and lost ops."""
    programs: int = 0
    """How many programs the audit ran."""

    @classmethod
    def of(cls, outcomes: Mapping[str, Outcome], faults: Mapping[str, Fault]) -> AuditResult:
        """The outcomes of all ops, sorted into sets."""

        def having(outcome: Outcome) -> frozenset[str]:
            return frozenset(op for op, found in outcomes.items() if found == outcome)

        wrong, lost = having("wrong"), having("begun")
        bad = {op: fault for op, fault in faults.items() if op in wrong | lost}
        return cls(wrong, lost, having("missing"), having("once"), having("twice"), bad)

    def with_mode(self, mode: AuditResult) -> AuditResult:
        """What this audit found of a framework, and another one of a mode of it with the ops that were right here."""
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
        """The sets as plain data, for another process that draws programs."""
        return {name: sorted(getattr(self, name)) for name in SETS}

    @classmethod
    def from_json(cls, form: Mapping[str, Collection[str]]) -> AuditResult:
        """The sets from plain data."""
        wrong, lost, missing, once, twice = (frozenset(form[name]) for name in SETS)
        return cls(wrong, lost, missing, once, twice)


NOTHING_FOUND = AuditResult()
"""No op is left out: the outcome where no audit was held."""


def ops_at_fault(wrong: Collection[str], ops: Collection[str]) -> frozenset[str]:
    """The ops to leave out of programs: the wrong ones, or none where so many of the framework's ops are wrong that it
    cannot be their own fault.
    """
    return frozenset(wrong) if len(wrong) <= MANY * len(ops) else frozenset()
