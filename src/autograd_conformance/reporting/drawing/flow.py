"""Adds gradients to a program's graph: the tensors that ops saved, and the first wrong gradient."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from textwrap import wrap

from autograd_conformance.reporting.drawing.graph import Edge, Node, ProgramGraph
from autograd_conformance.reporting.prose import listed, shortened
from autograd_conformance.reporting.records.flow import GradientFlow, SavedTensor, ValueGradient, gradient_name

WIDTH, LONGEST_VALUE = 28, 44
"""Maximum number of characters on a line of a drawing's box, and of a gradient's value that the box shows on several
lines.
"""

GRADIENT = 0
"""Number that the drawing uses in place of a line number for the box of the first wrong gradient, which is not a line
of the program.
"""


def with_gradients(drawn: ProgramGraph, flow: GradientFlow | None, call: int | None) -> ProgramGraph:
    """Returns the graph of a program with the gradients of the backward call on line `call` (ticks and crosses on
    edges), and with the tensors that the ops had saved.

    The first wrong gradient becomes a box between the line that made its value and the lines that pass the gradient on.
    """
    if flow is None:
        return drawn
    lines = {node.line for node in drawn.nodes}
    nodes = [_saving(node, flow) for node in drawn.nodes]
    passed = (each for each in flow.gradients if not each.held)
    rights = {(each.line, head): each.right for each in passed for head in each.through or (call,)}
    edges = [replace(edge, right=rights.get((edge.tail, edge.head))) for edge in drawn.edges]
    first = flow.first
    if first is not None and first.line in lines:
        heads = () if first.held else tuple(line for line in first.through or (call,) if line in lines)
        ways = {(first.line, head) for head in heads}
        edges = [edge for edge in edges if (edge.tail, edge.head) not in ways]
        edges += [Edge(first.line, GRADIENT, "wrong"), *(Edge(GRADIENT, head, "wrong") for head in heads if head)]
        nodes.append(Node(GRADIENT, "gradient", gradient_name(first), (), (), warnings=tuple(_beside(first))))
    return replace(drawn, nodes=tuple(nodes), edges=tuple(edges))


def _beside(gradient: ValueGradient) -> Iterator[str]:
    """Yields the expected and the observed value of a gradient as lines of the gradient's box in a drawing."""
    for head, text in (("expected", gradient.expected), ("observed", gradient.observed or "none")):
        yield from wrap(f"{head} {shortened(text, LONGEST_VALUE)}", WIDTH)


def _saving(node: Node, flow: GradientFlow) -> Node:
    """Adds to a node the tensors that its op saved: as a note those that are still valid, as warnings those that were
    freed or written to since.
    """
    saved = [each for each in flow.saved if each.line == node.line]
    written = any(each.now for each in flow.saved)
    kept = [each for each in saved if each.freed_by is None and not each.stale]
    names = listed(f"{shortened(each.name, 16)}{f' (version {each.version})' if written else ''}" for each in kept)
    lost = tuple(_lost(each) for each in saved if each not in kept)
    return replace(node, saved=(shortened(f"saves {names}", WIDTH),) if kept else (), warnings=lost)


def _lost(saved: SavedTensor) -> str:
    name = shortened(saved.name, 12)
    if saved.freed_by is not None:
        return f"saved {name}, which line {saved.freed_by} freed"
    return f"saved version {saved.version} of {name}; now {saved.now}"
