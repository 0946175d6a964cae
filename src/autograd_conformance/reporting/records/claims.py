"""Records of claims: statements of articles about autograd, whether they are true, and what a framework showed.

A claim's verdict follows from PyTorch's documented semantics and is the same in every run. The behaviour of the
framework of the run is recorded beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, assert_never, get_args

ClaimVerdict = Literal["holds", "holds under a condition", "false as written", "false", "not testable"]
Observed = Literal["right", "wrong", "mixed", "unknown", "not run"]

CLAIM_VERDICTS: tuple[ClaimVerdict, ...] = get_args(ClaimVerdict)
"""All verdicts on a claim."""

OBSERVED: tuple[Observed, ...] = get_args(Observed)
"""All ways in which a framework can behave in the programs of a claim: ``right`` is as the article says, ``mixed`` is
so in some programs only.
"""

_WORDS: dict[Observed, str] = {
    "right": "as the article says",
    "wrong": "not as the article says",
    "mixed": "sometimes as the article says",
    "unknown": "unknown",
    "not run": "not run",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimProgram:
    """A program that shows if a claim is true, in the code of the framework under test."""

    code: str
    line: int | None = None
    """Line that the article's prediction is about, from 1; None: the whole program."""
    predicts: str
    """The article's prediction, in words."""
    came_true: bool | None = None
    """Whether the prediction was right; None if not known."""
    note: str = ""
    """A remark on the case that the program shows, such as ``two losses on one value``; may be empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRecord:
    """A claim of an article, with its verdict and the programs that decide it."""

    key: str
    article: str
    """Title of the article."""
    section: str
    says: str
    """The article's statement, in this project's words."""
    truth: str
    """The facts about the matter of the claim, in a sentence or two."""
    condition: str = ""
    """Condition under which the claim holds, or would hold if the article's own example refutes it; may be empty."""
    verdict: ClaimVerdict
    observed: Observed = "not run"
    programs: tuple[ClaimProgram, ...] = ()
    reason: str | None = None
    """The reason why no program decides the claim, if it is not testable; None otherwise."""

    @property
    def official(self) -> Observed:
        """Behaviour, as ``right``, ``wrong``, ``mixed`` or ``not run``, of a framework that follows PyTorch's
        documented semantics.
        """
        match self.verdict:
            case "holds":
                return "right"
            case "holds under a condition":
                return "mixed"
            case "false as written":
                return "mixed" if self.condition else "wrong"
            case "false":
                return "wrong"
            case "not testable":
                return "not run"
            case _:
                assert_never(self.verdict)

    @property
    def differs(self) -> bool:
        """Whether the framework of the run behaved differently from PyTorch's documented semantics."""
        return self.observed in ("right", "wrong", "mixed") and self.observed != self.official


def by_article(claims: Iterable[ClaimRecord]) -> list[tuple[str, list[ClaimRecord]]]:
    """Claims grouped by the title of their article; articles and claims keep their order."""
    everything = list(claims)
    order = list(dict.fromkeys(each.article for each in everything))
    everything.sort(key=lambda each: order.index(each.article))
    return [(title, list(group)) for title, group in groupby(everything, key=lambda each: each.article)]


def verdict_counts(claims: Iterable[ClaimRecord]) -> str:
    """Number of claims with each verdict: ``18 hold, 12 hold under a condition, 11 are false``."""
    count = Counter(each.verdict for each in claims)
    words: dict[ClaimVerdict, tuple[str, str]] = {
        "holds": ("holds", "hold"),
        "holds under a condition": ("holds under a condition", "hold under a condition"),
        "false as written": ("is false as written", "are false as written"),
        "false": ("is false", "are false"),
        "not testable": ("cannot be tested", "cannot be tested"),
    }
    return ", ".join(f"{count[each]} {words[each][count[each] != 1]}" for each in CLAIM_VERDICTS if count[each])


def observation_counts(claims: Iterable[ClaimRecord]) -> str:
    """Number of testable claims for each behaviour: ``18 as the article says, 11 not as the article says``."""
    count = Counter(each.observed for each in claims if each.verdict != "not testable")
    return ", ".join(f"{count[each]} {_WORDS[each]}" for each in OBSERVED if count[each])


def observation(claim: ClaimRecord) -> str:
    """The framework's behaviour in the programs of a claim, in words; empty for a claim that is not testable."""
    return "" if claim.verdict == "not testable" else _WORDS[claim.observed]
