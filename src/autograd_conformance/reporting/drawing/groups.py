"""Adds groups of lines to a program's graph: regions, which are lines that run as one compiled or checkpointed
function, or iterations of a loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from autograd_conformance.reporting.drawing.graph import ProgramGraph
from autograd_conformance.reporting.prose import listed
from autograd_conformance.reporting.records.failure import LineGroup

NAMES = {"unit": "region", "iteration": "iteration"}
"""Name that drawings use for each kind of group of lines; ``unit`` is the name of a region (lines that run as one
compiled or checkpointed function) in records.
"""


def with_groups(drawn: ProgramGraph, groups: Sequence[LineGroup]) -> ProgramGraph:
    """Adds groups of lines (iterations, or regions) to a graph; the first node of each group gets the group's name as a
    note, such as ``iteration 2``.
    """
    known = {node.line for node in drawn.nodes}
    shown = [(number, each) for number, each in enumerate(groups, 1) if known.intersection(each.lines)]
    heads = {min(known.intersection(each.lines)): f"{NAMES[each.kind]} {number}" for number, each in shown}
    nodes = tuple(
        replace(node, notes=(heads[node.line], *node.notes)) if node.line in heads else node for node in drawn.nodes
    )
    return replace(drawn, nodes=nodes, groups=tuple(frozenset(each.lines) for _, each in shown))


def group_sentences(groups: Sequence[LineGroup]) -> Iterator[str]:
    """Yields a sentence for each group of lines: ``Iteration 2: lines 4, 5, 6.``"""
    for number, each in enumerate(groups, 1):
        lines = f"line {each.lines[0]}" if len(each.lines) == 1 else f"lines {listed(map(str, each.lines))}"
        yield f"{NAMES[each.kind].capitalize()} {number}: {lines}."
