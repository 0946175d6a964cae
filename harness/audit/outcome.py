"""What an audit found: how often each op can be differentiated."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from typing import Literal

Outcome = Literal["begun", "wrong", "once", "twice", "fine"]
"""What came of an op, from bad to good; `begun` where its audit never ended."""

MANY = 0.2
"""The part of all ops beyond which being wrong is no op's own fault."""


@dataclass(frozen=True, slots=True)
class Audited:
    """The ops that are not right by themselves: each in the set of the first derivative that it fails at."""

    wrong: frozenset[str] = frozenset()
    """Ops whose values, or first derivatives, are wrong."""
    lost: frozenset[str] = frozenset()
    """Ops that ended the process that ran them, or never came back."""
    once: frozenset[str] = frozenset()
    """Ops that can be differentiated once: their second derivatives are wrong or not implemented."""
    twice: frozenset[str] = frozenset()
    """Ops that can be differentiated twice: their third derivatives are wrong or not implemented."""

    @classmethod
    def of(cls, outcomes: Mapping[str, Outcome]) -> Audited:
        """The outcomes of all ops, sorted into sets."""

        def having(outcome: Outcome) -> frozenset[str]:
            return frozenset(op for op, found in outcomes.items() if found == outcome)

        return cls(having("wrong"), having("begun"), having("once"), having("twice"))

    def to_json(self) -> dict[str, list[str]]:
        """As plain data, for another process."""
        return {each.name: sorted(getattr(self, each.name)) for each in fields(self)}

    @classmethod
    def from_json(cls, form: Mapping[str, Collection[str]]) -> Audited:
        """From plain data."""
        return cls(**{name: frozenset(ops) for name, ops in form.items()})


NOTHING_FOUND = Audited()
"""No op is left out: the outcome where no audit was held."""


def at_fault(wrong: Collection[str], ops: Collection[str]) -> frozenset[str]:
    """The ops to leave out of programs: the wrong ones, or none where so many of the framework's ops are wrong that it
    cannot be their own fault.
    """
    return frozenset(wrong) if len(wrong) <= MANY * len(ops) else frozenset()
