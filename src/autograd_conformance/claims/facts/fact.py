"""A fact about PyTorch, the rules that require it of a framework, and programs that show it.

A fact is a rule, a rule in part, or no rule. `Fact.not_covered` is the part that is no rule, and the reason.
"""

from __future__ import annotations

from dataclasses import dataclass

from autograd_conformance.programs.slugs import Slug

RETURNS = "returns"


@dataclass(frozen=True, slots=True)
class FactProgram:
    """A program in text form, and the outcomes that the model allows for its last line, as text."""

    text: str
    outcomes: frozenset[str]


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact; `not_covered` is the part that no rule covers, and the reason."""

    key: str
    sentence: str
    rules: tuple[Slug, ...] = ()
    programs: tuple[FactProgram, ...] = ()
    not_covered: str = ""

    @property
    def status(self) -> str:
        """`rule`, `rule in part` or `no rule`."""
        if not self.rules:
            return "no rule"
        return "rule in part" if self.not_covered else "rule"


def fact(
    key: str, sentence: str, rules: tuple[Slug, ...] = (), *programs: tuple[str, str], not_covered: str = ""
) -> Fact:
    """A fact. The outcomes of a program are separated by bars."""
    shown = tuple(FactProgram(text, frozenset(outcomes.split(" | "))) for text, outcomes in programs)
    return Fact(key, sentence, rules, shown, not_covered)
