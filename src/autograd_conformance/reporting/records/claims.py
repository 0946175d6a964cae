"""Claims of articles as records: what an article says, what is true, and what the framework of this run showed.

A claim's verdict is the ledger's: what the official semantics make of it. What a framework showed stands beside it, so
that one table judges the article and portrays the framework.
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
"""The verdicts on a claim."""

OBSERVED: tuple[Observed, ...] = get_args(Observed)
"""What a framework can show of a claim."""

_WORDS: dict[Observed, str] = {
    "right": "as the article says",
    "wrong": "not so",
    "mixed": "sometimes so",
    "unknown": "could not be told",
    "not run": "not run",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimProgram:
    """A program that decides a claim, in the framework's own code.

    `predicts` is, in words, what the article predicts of `line` (from 1; None: of the whole program). `came_true` says
    whether it did (None: not known); `note`, which may be empty, which case of the claim the program is.
    """

    code: str
    line: int | None = None
    predicts: str
    came_true: bool | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRecord:
    """A claim: `says` is the article's view in our words, `truth` what is so.

    `condition` says when the claim holds, where it does so sometimes, or when it would, where the article's own example
    refutes it (else it is empty). `article` is the article's title. `reason` says why no program decides a claim that
    is not testable (else None).
    """

    key: str
    article: str
    section: str
    says: str
    truth: str
    condition: str = ""
    verdict: ClaimVerdict
    observed: Observed = "not run"
    programs: tuple[ClaimProgram, ...] = ()
    reason: str | None = None

    @property
    def official(self) -> Observed:
        """What a framework with the official semantics shows of it."""
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
        """Whether the framework showed something else than one with the official semantics does."""
        return self.observed in ("right", "wrong", "mixed") and self.observed != self.official


def by_article(claims: Iterable[ClaimRecord]) -> list[tuple[str, list[ClaimRecord]]]:
    """The claims under their articles' titles, both in the order in which they come."""
    everything = list(claims)
    order = list(dict.fromkeys(each.article for each in everything))
    everything.sort(key=lambda each: order.index(each.article))
    return [(title, list(group)) for title, group in groupby(everything, key=lambda each: each.article)]


def verdict_counts(claims: Iterable[ClaimRecord]) -> str:
    """How the claims stand: ``18 hold, 12 hold under a condition, 11 are false``."""
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
    """What the framework showed: ``18 as the article says, 11 not so``; claims that no program decides aside."""
    count = Counter(each.observed for each in claims if each.verdict != "not testable")
    return ", ".join(f"{count[each]} {_WORDS[each]}" for each in OBSERVED if count[each])


def observation(claim: ClaimRecord) -> str:
    """What the framework showed of a claim, in words; empty for a claim that no program decides."""
    return "" if claim.verdict == "not testable" else _WORDS[claim.observed]
