"""A fact about PyTorch: what it does, which rules hold a framework to it, and programs that show it.

A fact is a rule, a rule in part, or no rule. `Fact.not_covered` is the part that is no rule, and the reason.
"""

from __future__ import annotations

from dataclasses import dataclass

RETURNS = "returns"


@dataclass(frozen=True, slots=True)
class FactProgram:
    """A program in the text form, and the outcomes that the model allows for its last line, in words."""

    text: str
    outcomes: frozenset[str]


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact; `not_covered` is what of it is no rule, and why."""

    key: str
    sentence: str
    rules: tuple[str, ...] = ()
    programs: tuple[FactProgram, ...] = ()
    not_covered: str = ""

    @property
    def status(self) -> str:
        """Whether it is a rule, one in part, or none."""
        if not self.rules:
            return "no rule"
        return "rule in part" if self.not_covered else "rule"


def fact(key: str, sentence: str, rules: str = "", *programs: tuple[str, str], not_covered: str = "") -> Fact:
    """A fact; rules stand between blanks, a program's outcomes between bars."""
    shown = tuple(FactProgram(text, frozenset(outcomes.split(" | "))) for text, outcomes in programs)
    return Fact(key, sentence, tuple(rules.split()), shown, not_covered)
