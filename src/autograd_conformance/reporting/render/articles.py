"""The page about the claims of articles, docs/results/articles.md: a short table of the most useful claims, then all.

It is made from claim records alone. `evaluation.pages.articles` is the command that makes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autograd_conformance.reporting.records.claims import ClaimProgram, ClaimRecord, ClaimVerdict, by_article
from autograd_conformance.reporting.render.markdown import environment

LINES = 5
"""Maximum number of lines of a program in the short table."""

_VERDICTS: Mapping[ClaimVerdict, str] = {
    "holds": "**True.**",
    "holds under a condition": "**True under a condition:**",
    "false as written": "**False as written.**",
    "false": "**False.**",
    "not testable": "**Not testable.**",
}


def page(claims: Sequence[ClaimRecord], chosen: Sequence[ClaimRecord] = ()) -> str:
    """Returns the page about all claims of the articles, in GitHub's Markdown; the chosen claims come first, in a short
    table.
    """
    template = environment().get_template("articles.md.j2")
    return template.render(claims=claims, articles=by_article(claims), table=table(chosen) if chosen else "")


def table(claims: Sequence[ClaimRecord]) -> str:
    """The short table of some claims, each with one short program.

    Raises ValueError if a claim has no program of at most `LINES` lines.
    """
    rows = []
    for claim in claims:
        program = example_program(claim)
        if program is None:
            raise ValueError(f"{claim.key} has no program of at most {LINES} lines")
        rows.append((claim, program))
    return environment().get_template("articles_table.md.j2").render(rows=rows, verdicts=_VERDICTS)


def example_program(claim: ClaimRecord) -> ClaimProgram | None:
    """The shortest program of a claim, preferably one that refutes it; None if all have more than `LINES` lines."""
    short = [each for each in claim.programs if each.code.count("\n") < LINES]
    return min(short, key=lambda each: (each.came_true is not False, each.code.count("\n")), default=None)
