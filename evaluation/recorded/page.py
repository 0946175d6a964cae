"""`python -m evaluation.recorded.page`: writes docs/results/interactions.md, which lists what was never drawn."""

from __future__ import annotations

import sys
from itertools import combinations
from pathlib import Path

from autograd_conformance.interactions.reachable import Met, reachable
from autograd_conformance.interactions.recorded import recorded
from evaluation.recorded.reasons import REASONS, kind, reason

PAGE = Path(__file__).parents[2] / "docs" / "results" / "interactions.md"

OF_VALUES = "values"
"""The title of the facts about values, in place of the name of an instruction."""

INTRODUCTION = """\
<!-- Made by `python -m evaluation.recorded.page`; do not edit it. -->

# Interactions: what meets in the drawn programs, and what was never drawn

A program has facts: about an instruction (its kind, its options, the class of its op, the grad mode) and about a value
that it touches (a view, hooked, written, used often, ...). Facts that hold together of one instruction and one value
*interact*. Most faults of software need one or two conditions, fewer need three
([Kuhn, Wallace and Gallo, 2004](https://doi.org/10.1109/TSE.2004.24)).

| | |
|:--|--:|
| facts | {facts:,} |
| pairs that some drawn program has | {pairs:,} |
| triples that some drawn program has | {triples:,} |
| recorded programs that together have all these pairs | {for_pairs:,} |
| recorded programs of a quick run, with all pairs and 95 % of the triples | {quick:,} |
| recorded programs with all pairs and triples | {programs:,} |
| pairs that cannot meet, for the reasons below | {excluded:,} |
| other pairs, which no program had: the list at the end | {never:,} |

A report gives the share of the pairs and triples that a run had, of those that the framework's claims allow. An
interaction counts from the program alone: judging may have ended before its instruction. `python -m
evaluation.recorded` draws further programs and chooses again.

## Pairs that cannot meet

| why | pairs | such as |
|:--|--:|:--|
{reasons}

## Pairs that were never drawn

These can meet, as far as the reasons above know, and no strategy has drawn them yet.

"""


def page() -> str:
    """Returns the page as GitHub's Markdown, ending in a line end."""
    facts, met = list(reachable().facts), Met.of(reachable().meetings)
    excluded, never = dict[str, list[str]](), dict[str, list[str]]()
    for one, other in combinations(range(len(facts)), 2):
        first, second = facts[one], facts[other]
        if met.pairs.get(one, 0) >> other & 1:
            continue
        if (why := reason(first, second)) is not None:
            excluded.setdefault(why.text, []).append(f"*{first}* and *{second}*")
        elif kind(second) and not kind(first):
            never.setdefault(second, []).append(first)
        else:
            never.setdefault(first, []).append(second)
    (pairs, triples), found = met.counts, recorded()
    rows = (f"| {each.text} | {len(excluded[each.text]):,} | {excluded[each.text][0]} |" for each in REASONS)
    text = INTRODUCTION.format(
        facts=len(facts), pairs=pairs, triples=triples, for_pairs=found.pairs, quick=found.quick,
        programs=len(found.lines), excluded=sum(map(len, excluded.values())), never=sum(map(len, never.values())),
        reasons="\n".join(rows),
    )  # fmt: skip
    groups: dict[str, list[str]] = {}
    for fact, others in never.items():
        groups.setdefault(kind(fact) or OF_VALUES, []).append(f"- *{fact}* with: {', '.join(others)}")
    for title in sorted(groups):
        text += "\n".join([f"### {title}", "", *groups[title], "", ""])
    return f"{text.rstrip()}\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.exit(0)
