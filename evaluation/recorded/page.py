"""`python -m evaluation.recorded.page`: writes docs/results/interactions.md, which lists what was never drawn."""

from __future__ import annotations

import sys
from itertools import combinations
from pathlib import Path

from autograd_conformance.interactions.reachable import Met, reachable
from autograd_conformance.interactions.recorded import recorded
from autograd_conformance.programs.language import INSTRUCTIONS

PAGE = Path(__file__).parents[2] / "docs" / "results" / "interactions.md"

WORDS = frozenset(row.word for row in INSTRUCTIONS.values())

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
| pairs of two kinds of instruction, which cannot meet | {kinds:,} |
| other pairs, which no program had: the list below | {never:,} |

A report gives the share of the pairs and triples that a run had, of those that the framework's claims allow. An
interaction counts from the program alone: judging may have ended before its instruction. `python -m
evaluation.recorded` draws further programs and chooses again.

## Pairs that were never drawn

Some cannot occur: an instruction that clears gradients touches leaves only. Others can, and no strategy has drawn them
yet.

"""


def kind(fact: str) -> str | None:
    """Returns the kind of instruction that a fact is about, such as "backward"; None for the other facts."""
    word = fact.partition(":")[0]
    return word if word in WORDS else None


def page() -> str:
    """Returns the page as GitHub's Markdown, ending in a line end."""
    facts, met = list(reachable().facts), Met.of(reachable().meetings)
    kinds, never = 0, dict[str, list[str]]()
    for one, other in combinations(range(len(facts)), 2):
        first, second = facts[one], facts[other]
        if met.pairs.get(one, 0) >> other & 1:
            continue
        if kind(first) and kind(second) and kind(first) != kind(second):
            kinds += 1
        elif kind(second) and not kind(first):
            never.setdefault(second, []).append(first)
        else:
            never.setdefault(first, []).append(second)
    (pairs, triples), found = met.counts, recorded()
    text = INTRODUCTION.format(
        facts=len(facts), pairs=pairs, triples=triples, for_pairs=found.pairs, quick=found.quick,
        programs=len(found.lines), kinds=kinds, never=sum(map(len, never.values())),
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
