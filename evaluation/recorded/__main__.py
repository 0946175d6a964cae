"""`python -m evaluation.recorded [--examples 60] [--crossed 0] [--seeds 3]`: draws programs from all tests, and crossed
programs, and writes those that together have all their interactions to the package's file of recorded programs.
Programs of that file stay candidates.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

from autograd_conformance.interactions import reachable
from autograd_conformance.interactions.meetings import meetings
from autograd_conformance.interactions.reachable import Reachable
from autograd_conformance.interactions.recorded import PROGRAMS, Recorded, read, write
from autograd_conformance.ops import needs as capabilities
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.language import Program
from autograd_conformance.reporting.analysis.interactions import interactions_of
from evaluation.recorded.drawing import lines_of
from evaluation.recorded.selection import Numbers, cover, union

FACTS = {"pairs": 2, "triples": 3}
"""The sizes of the interactions that are covered."""


NEARLY = 0.95
"""The part of the triples of facts that the programs of a quick run have."""


def chosen(lines: list[str]) -> Recorded:
    """Returns those of some programs that together have all pairs, and then all triples, of facts that they have."""
    programs = [codec.loads(line, VOCABULARY) for line in lines]
    pairs, triples = Numbers(FACTS["pairs"]), Numbers(FACTS["triples"])
    first = cover([pairs.bits(program) for program in programs])
    bits = [triples.bits(program) for program in programs]
    has = union(bits[at] for at in first)
    order = [*first, *cover(bits, has)]
    quick, most = len(first), NEARLY * len(triples.number)
    while has.bit_count() < most:
        has |= bits[order[quick]]
        quick += 1
    print(f"{len(pairs.number)} pairs in {len(first)} programs, {len(triples.number)} triples in {len(order)}")
    return Recorded(tuple(lines[at] for at in order), len(first), quick)


def reachable_by(programs: list[Program]) -> Reachable:
    """Returns the interactions of some programs, with the capabilities that they need."""
    needed: dict[str, frozenset[str]] = {}
    met: set[frozenset[str]] = set()
    for program in programs:
        needs = frozenset(each.value for each in capabilities.needs(program))
        found = {*meetings(program)}
        met |= found
        for fact in set().union(*found):
            needed[fact] = needed.get(fact, needs) & needs
    record = interactions_of(met)
    return Reachable({fact: needed[fact] for fact in record.facts}, record.meetings)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evaluation.recorded", description=__doc__)
    parser.add_argument("--examples", type=int, default=60, metavar="N", help="programs per rule (default: 60)")
    parser.add_argument("--crossed", type=int, default=0, metavar="N", help="crossed programs per seed (default: 0)")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="number of seeds (default: 3)")
    parser.add_argument("--first", type=int, default=1, metavar="N", help="the first seed (default: 1)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (default: 2)")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.seeds)
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(partial(lines_of, options.examples, options.crossed), seeds))
    lines = list(read(PROGRAMS).lines) if PROGRAMS.exists() else []
    lines = list(dict.fromkeys([*lines, *(line for each, _ in found for line in each)]))
    print(f"{sum(count for _, count in found)} programs drawn, {len(lines)} candidates")
    made = chosen(lines)
    write(PROGRAMS, made)
    reachable.write(reachable_by([codec.loads(line, VOCABULARY) for line in made.lines]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
