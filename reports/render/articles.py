"""The ledger of claims as pages: docs/results/articles.md, and the short table that the README shows.

Both are made from claim records alone, so that whoever holds the ledger and a framework's dialect can make them; the
command that does is `harness.pages.articles`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autograd_conformance.reports.claims import ClaimProgram, ClaimRecord, Standing, by_article
from autograd_conformance.reports.render.markdown import environment

BEGIN, END = "<!-- articles -->", "<!-- /articles -->"
"""The markers between which a page holds the short table."""

LINES = 5
"""The most lines of a program in the short table."""

_VERDICTS: Mapping[Standing, str] = {
    "holds": "**True.**",
    "holds under a condition": "**True under a condition:**",
    "false": "**False.**",
    "not testable": "**Not testable.**",
}


def page(claims: Sequence[ClaimRecord]) -> str:
    """The page about all claims, in GitHub's Markdown, ending in a line end."""
    template = environment().get_template("articles.md.j2")
    return template.render(claims=claims, articles=by_article(claims))


def table(claims: Sequence[ClaimRecord]) -> str:
    """The short table of the claims given, each with its most telling program; ValueError where all are too long."""
    rows = []
    for claim in claims:
        program = telling(claim)
        if program is None:
            raise ValueError(f"{claim.key} has no program of at most {LINES} lines")
        rows.append((claim, program))
    return environment().get_template("articles_table.md.j2").render(rows=rows, verdicts=_VERDICTS)


def telling(claim: ClaimRecord) -> ClaimProgram | None:
    """The program that says most in the least space: the shortest, of those against the claim if there are any."""
    short = [each for each in claim.programs if each.code.count("\n") < LINES]
    return min(short, key=lambda each: (each.came_true is not False, each.code.count("\n")), default=None)


def inserted(text: str, table: str) -> str:
    """The text with the table between its markers; ValueError where it does not hold each of them once."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end) or BEGIN in rest or END in after:
        raise ValueError(f"there has to be one {BEGIN} and one {END} behind it")
    return f"{before}{BEGIN}\n{table.strip()}\n{END}{after}"
