"""Facts about PyTorch's autograd, each with the rules of the suite that require the same of any framework, and with
programs that show the fact.

A fact is a rule, a rule in part, or no rule. `Fact.not_covered` is the part that is no rule, and the reason.
"""

from __future__ import annotations

from dataclasses import dataclass

from autograd_conformance.programs.slugs import Slug

RETURNS = "returns"


@dataclass(frozen=True, slots=True)
class FactProgram:
    """A program in text form, and the outcomes of its last line that the suite's model of autograd must allow, such as
    ``returns`` and ``graph freed``.
    """

    text: str
    outcomes: frozenset[str]


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact about PyTorch's autograd, with the rules that cover it; `not_covered` is the part that no rule covers, and
    the reason.
    """

    key: str
    sentence: str
    rules: tuple[Slug, ...] = ()
    programs: tuple[FactProgram, ...] = ()
    not_covered: str = ""

    @property
    def status(self) -> str:
        """Says if rules of the suite cover the fact: `rule` (wholly), `rule in part` or `no rule`."""
        if not self.rules:
            return "no rule"
        return "rule in part" if self.not_covered else "rule"


def fact(
    key: str, sentence: str, rules: tuple[Slug, ...] = (), *programs: tuple[str, str], not_covered: str = ""
) -> Fact:
    """Makes a fact from pairs of a program and the allowed outcomes of its last line, separated by bars: ``returns |
    graph freed``.
    """
    shown = tuple(FactProgram(text, frozenset(outcomes.split(" | "))) for text, outcomes in programs)
    return Fact(key, sentence, rules, shown, not_covered)
