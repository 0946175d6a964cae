"""Graphs of programs: nodes and edges made from a program's JSON form.

Each instruction is a node. An in-place write makes a new node for its value, and later readers have edges from that
node. Calls (backward, clearing gradients, optimizer steps) are nodes, too. Two consecutive calls or writes without
another path between them are joined by an edge that shows their order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from autograd_conformance.reporting.prose import counted, one_line, shortened

Kind = Literal["leaf", "op", "write", "call", "gradient"]
EdgeKind = Literal["data", "acts", "then", "wrong"]

KINDS: tuple[Kind, ...] = get_args(Kind)
EDGE_KINDS: tuple[EdgeKind, ...] = get_args(EdgeKind)

FEW = 4
"""Maximum length of a call's list of leaves or values whose members get an edge each (a longer list gets no edges), and
maximum number of elements of a leaf that are printed.
"""

WRITES = ("write", "detach_in_place", "requires_grad", "step", "assign_grad", "clip")
"""Names of instructions that change a value or its gradient, so that later readers of the value depend on the
instruction.
"""

READERS = {
    "roots": "data",
    "args": "data",
    "source": "data",
    "target": "acts",
    "leaf": "acts",
    "value": "data",
    "handle": "acts",
    "leaves": "acts",
    "values": "acts",
}
"""Fields of an instruction's JSON form that refer to values, in drawing order, with the kind of edge for each: ``data``
if the instruction reads the value, ``acts`` if it acts on the value or its gradient.
"""

NAMES = {
    "write": "write",
    "detach_in_place": "detach_",
    "requires_grad": "requires_grad_",
    "retain_grad": "retain_grad",
    "zero_grad": "clear gradients",
    "held": ".grad",
    "assign_grad": "assign .grad",
    "remove_hook": "remove hook",
    "clip": "clip gradients",
    "drop": "delete",
}
"""Names that drawings use for instructions whose name in the JSON form is not a common one: ``held`` is drawn as
``.grad``.
"""


@dataclass(frozen=True, slots=True)
class Node:
    """Node of a graph: an instruction of a program, or the first wrong gradient."""

    line: int
    """Line in the printed code, from 1; 0 for the gradient."""
    kind: Kind
    title: str
    """Name of the op or call."""
    notes: tuple[str, ...]
    """Details, one per line: names of results, shape and dtype, attributes, grad modes."""
    reads: tuple[str, ...]
    """Names of the values that the instruction reads or acts on."""
    makes: str = ""
    """Names of the values that the instruction makes; may be empty."""
    frozen: bool = False
    """Whether the node is a leaf that does not require grad."""
    saved: tuple[str, ...] = ()
    """A line that names the tensors that the op saved for its derivative and that are still valid, such as ``saves a
    and b``; empty if there are none.
    """
    warnings: tuple[str, ...] = ()
    """Lines of text in the colour of failures: saved tensors that were freed or written to, or the expected and
    observed value of a wrong gradient.
    """


@dataclass(frozen=True, slots=True)
class Edge:
    """Edge of a program's graph: from the line `tail` that made or last changed a value to the line `head` that reads
    it, between consecutive calls or writes to show their order, or along the first wrong gradient.
    """

    tail: int
    head: int
    kind: EdgeKind
    times: int = 1
    """Number of times that the line `head` reads the value."""
    right: bool | None = None
    """Whether the gradient that flows back along the edge is right; None if it was not observed."""


@dataclass(frozen=True, slots=True)
class ProgramGraph:
    """Graph of a program. Its nodes are the lines of the program and, if known, the first wrong gradient."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    groups: tuple[frozenset[int], ...] = ()
    """Sets of line numbers, each drawn on one background: the iterations of a loop, or the regions (lines that run as
    one compiled or checkpointed function).
    """


def programs(form: Mapping[str, Any]) -> tuple[Sequence[Mapping[str, Any]], ...]:
    """Returns a failure's programs, each as a list of instructions in JSON form: one, two if the broken rule compares
    two, or none.
    """
    forms = [form] if "instructions" in form else [form.get("first"), form.get("second")]
    found = [each["instructions"] for each in forms if isinstance(each, Mapping) and "instructions" in each]
    return tuple(steps for steps in found if isinstance(steps, list) and steps and all(map(_is_instruction, steps)))


def graph(steps: Sequence[Mapping[str, Any]], code: str) -> ProgramGraph:
    """Makes the graph of a program from the JSON form of the instructions; the names of values are read from the
    printed `code`.
    """
    names = _names(steps, code.split("\n"))
    made: dict[int, int] = {}
    nodes: list[Node] = []
    edges: dict[tuple[int, int], Edge] = {}
    last: int | None = None
    for at, step in enumerate(steps):
        node = _node(at, step, names)
        nodes.append(node)
        for ref, kind in _shown(step):
            tail = made.get(ref, at)
            if tail == at:
                continue  # impossible in a valid program, but a record may contain anything
            known = edges.get((tail, at))
            edges[tail, at] = Edge(tail + 1, at + 1, known.kind if known else kind, known.times + 1 if known else 1)
        if node.kind in ("call", "write"):
            if last is not None and not _reaches(last, at, edges):
                edges[last, at] = Edge(last + 1, at + 1, "then")
            last = at
        made[at] = at
        if step["do"] in WRITES:
            made |= dict.fromkeys(_refs(step, "target", "leaf", "leaves"), at)
    return ProgramGraph(tuple(nodes), tuple(edges.values()))


def sentences(drawn: ProgramGraph, at: int | None) -> Iterator[str]:
    """The graph as sentences, one per line, for people who cannot see the drawing; `at` is the failing line."""
    for node in drawn.nodes:
        if node.kind == "gradient":
            continue
        reads = f" of {_and(node.reads)}" if node.reads else ""
        makes = f", which makes {node.makes}" if node.makes else ""
        details = (*node.notes, *node.saved, *node.warnings)
        notes = f" ({'; '.join(details)})" if details else ""
        here = ". This line fails" if node.line == at else ""
        what = "a leaf" if node.kind == "leaf" else node.title
        yield f"Line {node.line}: {what}{reads}{makes}{notes}{here}."


def _node(at: int, step: Mapping[str, Any], names: Mapping[tuple[int, int], str]) -> Node:
    do = step["do"]
    own = ", ".join(name for (index, _), name in names.items() if index == at)
    reads = tuple(dict.fromkeys(_called(ref, names) for ref in _named(step)))
    modes = tuple(f"under {mode}" for mode in _list(step.get("modes")))
    match do:
        case "leaf":
            frozen = step.get("requires_grad", True) is False
            notes = (*_literal(step), *(("requires no grad",) if frozen else ()), *modes)
            return Node(at + 1, "leaf", own, notes, (), own, frozen)
        case "apply":
            return Node(at + 1, "op", _short(step.get("op")), (*_attrs(step), *modes), reads, own)
        case "detach":
            return Node(at + 1, "op", do, modes, reads, own)
        case "write":
            return Node(at + 1, "write", _short(step.get("op")), (*_attrs(step), *modes), reads)
        case "hook":
            return Node(at + 1, "call", f"hook: {_short(step.get('effect', 'observe'))}", modes, reads)
        case "step" | "optimizer":
            title = f"{_short(step.get('optimizer'))}{'.step' if do == 'step' else ''}"
            return Node(at + 1, "call", title, modes, reads)
        case _:
            kind: Kind = "write" if do in ("detach_in_place", "requires_grad") else "call"
            makes = own if do in ("grad", "held") else ""
            return Node(at + 1, kind, NAMES.get(do, _short(do)), (*_flags(step), *modes), reads, makes)


def _is_instruction(step: Any) -> bool:
    return isinstance(step, Mapping) and isinstance(step.get("do"), str)


def _named(step: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    """Yields references to all values that an instruction in JSON form names, each as (index of the instruction, index
    of the result).
    """
    for field in READERS:
        yield from _values(step.get(field))


def _shown(step: Mapping[str, Any]) -> Iterator[tuple[int, EdgeKind]]:
    """Yields the values that get an edge to an instruction, each as the index of the instruction that made the value,
    with the kind of the edge. Long lists of leaves or values get no edges, only a count.
    """
    for field in READERS:
        found = list(_values(step.get(field)))
        if field not in ("leaves", "values") or len(found) <= FEW:
            kind: EdgeKind = "acts" if READERS[field] == "acts" else "data"
            yield from ((at, kind) for at, _ in found)


def _refs(step: Mapping[str, Any], *fields: str) -> Iterator[int]:
    return (at for field in fields for at, _ in _values(step.get(field)))


def _values(value: Any) -> Iterator[tuple[int, int]]:
    match value:
        case str() if found := re.fullmatch(r"%(\d{1,6})(?:\.(\d{1,6}))?", value):
            yield int(found[1]), int(found[2] or 0)
        case list():
            for each in value:
                yield from _values(each)


def _names(steps: Sequence[Mapping[str, Any]], lines: Sequence[str]) -> dict[tuple[int, int], str]:
    """Names the values of a program after the left-hand side of the line of code that makes each value, or else with a
    number such as ``%3``.
    """
    found: dict[tuple[int, int], str] = {}
    for at, step in enumerate(steps):
        count = step.get("results", 1) if step["do"] == "apply" else len(list(_values(step.get("inputs"))))
        count = max(1, count) if isinstance(count, int) else 1
        if step["do"] not in ("leaf", "apply", "detach", "grad", "held"):
            continue
        line = lines[at].strip() if len(lines) == len(steps) else ""
        left = re.match(r"\(?((?:\w+,? ?)+?)\)? = ", line)
        own = [name.strip() for name in left[1].split(",") if name.strip()] if left else []
        for output in range(min(count, 100)):
            plain = f"%{at}" if output == 0 else f"%{at}.{output}"
            found[at, output] = shortened(own[output], 16) if len(own) == count else plain
    return found


def _called(ref: tuple[int, int], names: Mapping[tuple[int, int], str]) -> str:
    return names.get(ref, f"%{ref[0]}" if not ref[1] else f"%{ref[0]}.{ref[1]}")


def _literal(step: Mapping[str, Any]) -> tuple[str, ...]:
    shape, data = _list(step.get("shape")), _list(step.get("data"))
    numbers = ", ".join(f"{x:.4g}" if isinstance(x, int | float) else _short(x) for x in data[:FEW])
    inside = numbers + (", ..." if len(data) > FEW else "")
    written = f"{shortened(inside, 32)}" if not shape else f"[{shortened(inside, 32)}]"
    extent = f"shape {' by '.join(map(str, shape))}" if shape else "scalar"
    size = f"{extent}, {_short(step.get('dtype'))}"
    return (written, size) if data else (size,)


def _attrs(step: Mapping[str, Any]) -> tuple[str, ...]:
    attrs = step.get("attrs")
    if not isinstance(attrs, Mapping) or not attrs:
        return ()
    return (shortened(", ".join(f"{name}={_attr(value)}" for name, value in attrs.items()), 28),)


def _attr(value: Any) -> str:
    match value:
        case {"float": number}:
            return str(number)
        case list():
            return f"({', '.join(map(_attr, value))})"
        case _:
            return one_line(str(value))


def _flags(step: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns texts about a call: the arguments that the program sets explicitly (``retain_graph=True``), and the
    numbers of inputs and leaves (``2 inputs``).
    """
    names = ("retain_graph", "create_graph", "allow_unused", "set_to_none", "on", "accumulated")
    flags = [f"{name}={step[name]}" for name in names if isinstance(step.get(name), bool)]
    inputs = list(_values(step.get("inputs")))
    many = [counted(len(list(_values(step.get(field)))), "value") for field in ("leaves", "values") if step.get(field)]
    return (*flags, *((counted(len(inputs), "input"),) if inputs else ()), *many)


def _reaches(start: int, end: int, edges: Mapping[tuple[int, int], Edge]) -> bool:
    ahead: dict[int, list[int]] = {}
    for tail, head in edges:
        ahead.setdefault(tail, []).append(head)
    visited, waiting = set[int](), [start]
    while waiting:
        here = waiting.pop()
        if here == end:
            return True
        if here not in visited:
            visited.add(here)
            waiting += ahead.get(here, [])
    return False


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _short(word: Any) -> str:
    return shortened(str(word), 28)


def _and(names: Sequence[str]) -> str:
    shown = list(names[:6]) + ([f"{len(names) - 6} more"] if len(names) > 6 else [])
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
