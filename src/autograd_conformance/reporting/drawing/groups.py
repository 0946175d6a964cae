"""Lines that belong together, put into a program's graph: what a framework runs as one, iterations of a loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from autograd_conformance.reporting.drawing.graph import ProgramGraph
from autograd_conformance.reporting.prose import listed
from autograd_conformance.reporting.records.failure import LineGroup


def with_groups(drawn: ProgramGraph, groups: Sequence[LineGroup]) -> ProgramGraph:
    """The graph with its groups, each named in the first of its lines."""
    known = {node.line for node in drawn.nodes}
    shown = [(number, each) for number, each in enumerate(groups, 1) if known.intersection(each.lines)]
    heads = {min(known.intersection(each.lines)): f"{each.kind} {number}" for number, each in shown}
    nodes = tuple(
        replace(node, notes=(heads[node.line], *node.notes)) if node.line in heads else node for node in drawn.nodes
    )
    return replace(drawn, nodes=nodes, groups=tuple(frozenset(each.lines) for _, each in shown))


def group_sentences(groups: Sequence[LineGroup]) -> Iterator[str]:
    """The groups in words, a sentence each."""
    for number, each in enumerate(groups, 1):
        lines = f"line {each.lines[0]}" if len(each.lines) == 1 else f"lines {listed(map(str, each.lines))}"
        yield f"{each.kind.capitalize()} {number}: {lines}."
