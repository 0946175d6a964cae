"""A fact about PyTorch: what it does, which rules hold a framework to it, and programs that show it.

What no rule holds is said, and why: a fact may be a rule altogether, in part (then `open` says what is left out), or
not at all.
"""

from __future__ import annotations

from dataclasses import dataclass

RETURNS = "returns"


@dataclass(frozen=True, slots=True)
class Shown:
    """A program in the text form, and the outcomes that the model allows for its last line, in words."""

    text: str
    outcomes: frozenset[str]


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact; `open` is what of it is no rule, and why."""

    key: str
    sentence: str
    rules: tuple[str, ...] = ()
    programs: tuple[Shown, ...] = ()
    open: str = ""

    @property
    def standing(self) -> str:
        """Whether it is a rule, one in part, or none."""
        if not self.rules:
            return "no rule"
        return "rule in part" if self.open else "rule"


def fact(key: str, sentence: str, rules: str = "", *programs: tuple[str, str], open: str = "") -> Fact:
    """A fact; rules stand between blanks, a program's outcomes between bars."""
    shown = tuple(Shown(text, frozenset(outcomes.split(" | "))) for text, outcomes in programs)
    return Fact(key, sentence, tuple(rules.split()), shown, open)
