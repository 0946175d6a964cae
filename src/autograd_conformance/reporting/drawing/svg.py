"""SVG drawings of graphs: layers from top to bottom, with the failing line marked.

Grandalf computes the layout (Sugiyama's method). Sizes are in CSS pixels, colours come from the page's style sheet. A
drawing has the size that its text needs, and the page scrolls if it is wider than the screen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import count, pairwise

from grandalf.graphs import Edge as Line
from grandalf.graphs import Graph, Vertex
from grandalf.layouts import SugiyamaLayout

from autograd_conformance.reporting.drawing.graph import Edge, Node, ProgramGraph
from autograd_conformance.reporting.prose import printable

LETTER, ROW, PAD = 7.3, 16, 12
"""Width of a letter, height of a line of text, and padding around the text in the box of a node, in CSS pixels."""

BADGE = 11
"""Radius in CSS pixels of the circle with the line number at the corner of a node's box."""

MARGIN, ACROSS, DOWN = 14, 26, 34
"""Space around the drawing, between two nodes side by side, and between two layers, in CSS pixels."""

HALO = 8
"""Width in CSS pixels of the rim by which the background of a group of lines (an iteration or a region) extends beyond
each box of the group.
"""

ROUNDS = 3
"""Number of passes in which the layout library grandalf orders the nodes of the layers to avoid crossing edges."""

MOST = 60
"""Maximum number of lines of a program that is drawn; drawings of longer programs are not readable."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class FailingLine:
    """The number of a program's failing line, with lines of text on the observed and expected outcome."""

    line: int
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Box:
    """Width and height of a node, and the position that grandalf computes for it."""

    w: float
    h: float
    xy: Point = (0.0, 0.0)


class _Route:
    """Points of an edge, set by grandalf: the centres of its two nodes and, between them, one point in each layer."""

    points: Sequence[Point] = ()

    def setpath(self, points: Sequence[Point]) -> None:
        """Stores the points of the edge; grandalf calls this method."""
        self.points = points


def svg(
    drawn: ProgramGraph, name: str, title: str, mark: FailingLine | None = None, explained: Sequence[int] = ()
) -> str:
    """Drawing of a graph as an SVG element; `name` must be unique on the page.

    The `explained` lines, which the explanation of the failure mentions, have thicker borders.
    """
    boxes = {node.line: _Box(*_size(node, mark)) for node in drawn.nodes}
    paths = _laid_out(drawn, boxes)
    bends = (x for points in paths.values() for x, _ in points)
    right = max(*(box.xy[0] + box.w / 2 for box in boxes.values()), *bends, 0) + MARGIN
    bottom = max(box.xy[1] + box.h / 2 for box in boxes.values()) + MARGIN
    inner = [*_backgrounds(drawn, boxes, paths), *(_edge(edge, paths[edge]) for edge in drawn.edges)]
    inner += [_drawn(node, boxes[node.line], mark, node.line in explained) for node in drawn.nodes]
    return (
        f'<svg class="drawing" role="img" aria-labelledby="{name}-title" width="{right:.0f}" height="{bottom:.0f}" '
        f'viewBox="0 0 {right:.0f} {bottom:.0f}"><title id="{name}-title">{escape(printable(title))}</title>'
        f"{''.join(inner)}</svg>"
    )


def width(picture: str) -> int:
    """Width of a drawing in CSS pixels."""
    found = re.search(r' width="(\d+)"', picture)
    return int(found[1]) if found else 0


def _size(node: Node, mark: FailingLine | None) -> tuple[float, float]:
    texts = list(_texts(node, mark))
    return max(64.0, max(len(text) for _, text in texts) * LETTER + 2 * PAD), len(texts) * ROW + PAD


def _texts(node: Node, mark: FailingLine | None) -> Iterator[tuple[str, str]]:
    """Yields the lines of text in a node's box, each as (CSS class, text)."""
    yield "title", node.title
    if node.makes and node.makes != node.title:
        yield "name", f"→ {node.makes}"
    if node.kind in ("write", "call") and node.reads:
        yield "name", ", ".join(node.reads[:3]) + (", ..." if len(node.reads) > 3 else "")
    yield from (("note", note) for note in node.notes)
    yield from (("note", note) for note in node.saved)
    yield from (("wrong", note) for note in node.warnings)
    if mark and mark.line == node.line:
        yield from (("wrong", note) for note in mark.notes)


def _laid_out(drawn: ProgramGraph, boxes: dict[int, _Box]) -> dict[Edge, list[Point]]:
    """Move the boxes to their places, and return the points of each edge."""
    vertices = {line: Vertex(line) for line in boxes}
    for number, vertex in vertices.items():
        vertex.view = boxes[number]
    lines = {edge: Line(vertices[edge.tail], vertices[edge.head]) for edge in drawn.edges}
    for line in lines.values():
        line.view = _Route()
    paths: dict[Edge, list[Point]] = {}
    left = float(MARGIN)
    for part in Graph(list(vertices.values()), list(lines.values())).C:
        layout = SugiyamaLayout(part)
        layout.xspace, layout.yspace = ACROSS, DOWN
        layout.init_all()
        layout.draw(ROUNDS)
        inside = {vertex.data for vertex in part.sV}
        bends = {edge: lines[edge].view.points[1:-1] for edge in drawn.edges if edge.tail in inside}
        across = [boxes[line].xy[0] - boxes[line].w / 2 for line in inside]
        across += [x - PAD for points in bends.values() for x, _ in points]
        down = min(boxes[line].xy[1] - boxes[line].h / 2 for line in inside)
        shift_x, shift_y = left - min(across), MARGIN - down
        for line in inside:
            x, y = boxes[line].xy
            boxes[line].xy = (x + shift_x, y + shift_y)
        for edge, points in bends.items():
            start, end = boxes[edge.tail], boxes[edge.head]
            moved = [(x + shift_x, y + shift_y) for x, y in points]
            paths[edge] = [(start.xy[0], start.xy[1] + start.h / 2), *moved, (end.xy[0], end.xy[1] - end.h / 2)]
        reached = (x for edge in bends for x, _ in paths[edge])
        left = max(*(boxes[line].xy[0] + boxes[line].w / 2 for line in inside), *reached, left) + 2 * ACROSS
    return paths


def _backgrounds(drawn: ProgramGraph, boxes: dict[int, _Box], paths: dict[Edge, list[Point]]) -> Iterator[str]:
    """Yields the SVG background of each group of lines, around the group's boxes and along the edges between
    the boxes.
    """
    for number, lines in enumerate(drawn.groups):
        inside = [box for line, box in boxes.items() if line in lines]
        grounds = [
            f'<rect x="{box.xy[0] - box.w / 2 - HALO:.1f}" y="{box.xy[1] - box.h / 2 - HALO:.1f}" '
            f'width="{box.w + 2 * HALO:.1f}" height="{box.h + 2 * HALO:.1f}" rx="{HALO:g}"/>'
            for box in inside
        ]
        within = (edge for edge in drawn.edges if {edge.tail, edge.head} <= lines)
        grounds += [f'<path d="{_curve(paths[edge])}"/>' for edge in within]
        yield f'<g class="group {("odd", "even")[number % 2]}">{"".join(grounds)}</g>'


def _curve(points: Sequence[Point]) -> str:
    """SVG path of a curve through points, vertical at each point."""
    parts = [f"M{points[0][0]:.1f},{points[0][1]:.1f}"]
    for (x, y), (to_x, to_y) in pairwise(points):
        middle = (y + to_y) / 2
        parts.append(f"C{x:.1f},{middle:.1f} {to_x:.1f},{middle:.1f} {to_x:.1f},{to_y:.1f}")
    return "".join(parts)


def _edge(edge: Edge, points: Sequence[Point]) -> str:
    """Curve with an arrowhead, the number of reads, and a sign for the gradient along it.

    Edges of the wrong gradient point up, as gradients flow.
    """
    x, y = points[0] if edge.kind == "wrong" else points[-1]
    head = f'<path class="head" d="M{x:.1f},{y:.1f}l-4,{"7" if edge.kind == "wrong" else "-7"}h8z"/>'
    (x, y), (to_x, to_y) = points[-2:]
    x, y = (x + to_x) / 2, (y + to_y) / 2
    label = f'<text x="{x + 12:.1f}" y="{y + 4:.1f}">{edge.times} times</text>' if edge.times > 1 else ""
    label += "" if edge.right is None else _sign(x, y, edge.right)
    return f'<g class="edge {edge.kind}"><path d="{_curve(points)}"/>{head}{label}</g>'


def _sign(x: float, y: float, right: bool) -> str:
    """Tick or cross for a right or wrong gradient along an edge."""
    lines = "m-4,0l3,3l5,-6" if right else "m-3,-3l6,6m0,-6l-6,6"
    state = "fine" if right else "amiss"
    return f'<g class="sign {state}"><circle cx="{x:.1f}" cy="{y:.1f}" r="8"/><path d="M{x:.1f},{y:.1f}{lines}"/></g>'


def _drawn(node: Node, box: _Box, mark: FailingLine | None, explained: bool) -> str:
    x, y = box.xy[0] - box.w / 2, box.xy[1] - box.h / 2
    here = node.kind == "gradient" or (mark is not None and mark.line == node.line)
    classes = (
        f"node {node.kind}{' frozen' if node.frozen else ''}{' explained' if explained else ''}{' bad' if here else ''}"
    )
    corner = {"leaf": min(box.h / 2, 18), "op": 4, "write": 4, "call": 4, "gradient": 12}[node.kind]
    shape = f'<rect x="{x:.1f}" y="{y:.1f}" width="{box.w:.1f}" height="{box.h:.1f}" rx="{corner:g}"/>'
    texts = "".join(
        f'<text class="{kind}" x="{box.xy[0]:.1f}" y="{top:.1f}">{escape(printable(text))}</text>'
        for top, (kind, text) in zip(count(y + PAD / 2 + 12, ROW), _texts(node, mark))
    )
    badge = (
        f'<circle class="badge" cx="{x:.1f}" cy="{y:.1f}" r="{BADGE}"/>'
        f'<text class="number" x="{x:.1f}" y="{y + 4:.1f}">{node.line}</text>'
    )
    return f'<g class="{classes}">{shape}{texts}{badge if node.line else ""}</g>'
