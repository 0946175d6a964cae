"""Rerolling: the repetitions of an unrolled program become loops.

A program is straight-line, so that it contains the body of a loop once per iteration. `reroll` takes the repetition
that saves the most lines (`printing.repetition`) and makes a loop of it. Values passed between blocks are carried by a
variable. Values of earlier blocks that are read after the loop are collected in a list. The lines before the loop, its
body and the lines after it are rerolled in the same way, so that loops may nest. If the program ends within the second
iteration, the loop stops there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import assert_never

from autograd_conformance.printing.loop_nodes import (
    Begin,
    Carried,
    Collect,
    Collection,
    Copy,
    Element,
    FurtherIteration,
    Line,
    Loop,
    Node,
    Rerolled,
    Stop,
    Value,
    all_nodes,
    reads,
)
from autograd_conformance.printing.repetition import Repetition, mark, repetition
from autograd_conformance.printing.straight_line import straight_lines
from autograd_conformance.programs.language import Delete, Leaf, Program


def reroll(program: Program) -> Rerolled | None:
    """Turns repetitions in a straight-line program into loops; returns None if nothing repeats."""
    lines = straight_lines(program)
    ways = [found for each in (lines, _hoisted(lines)) if (found := _rerolled(each)) is not None]
    return min(ways, key=lambda found: sum(1 for _ in all_nodes(found.nodes)), default=None)


def iterations(program: Program) -> tuple[tuple[int, ...], ...]:
    """Returns the numbers of the instructions in each iteration of the loop that saves the most lines of a program;
    empty if nothing repeats.
    """
    lines = straight_lines(program)
    found = [(each, repeated) for each in (lines, _hoisted(lines)) if (repeated := repetition(each, outermost=True))]
    if not found:
        return ()
    chosen, repeated = max(found, key=lambda each: each[1].saved)
    end = repeated.start + repeated.period * repeated.count + repeated.rest
    starts = range(repeated.start, end, repeated.period)
    blocks = (chosen[start : min(start + repeated.period, end)] for start in starts)
    return tuple(tuple(line.at for line in block if line.at is not None) for block in blocks)


def _hoisted(lines: Sequence[Line]) -> list[Line]:
    """The lines, with leaves that several similar lines read moved to the front: their data does not belong to one
    iteration.
    """
    readers: dict[tuple[Value, str, int], int] = {}
    for line in lines:
        for k, ref in enumerate(line.reads):
            kind = (ref, mark(line, 0), k)
            readers[kind] = readers.get(kind, 0) + 1
    often = {ref for (ref, _, _), times in readers.items() if times > 1}
    moved = sorted(lines, key=lambda line: not (isinstance(line.step, Leaf) and line.made[0] in often))
    return [replace(line, instances={(): at}) for at, line in enumerate(moved)]


def _rerolled(lines: Sequence[Line]) -> Rerolled | None:
    reroller = _Reroller()
    nodes, _ = reroller.reroll(lines, frozenset(), outermost=True)
    deleted = (node for node in all_nodes(nodes) if isinstance(node, Line) and isinstance(node.step, Delete))
    if any(isinstance(ref, Element) for node in deleted for ref in node.reads):
        return None
    has_loops = any(isinstance(node, Loop) for node in nodes)
    return Rerolled(nodes, tuple(lines), tuple(reroller.alike)) if has_loops else None


@dataclass(slots=True)
class _Reroller:
    number: count[int] = field(default_factory=count)
    """Counter that numbers new variables and lists."""
    alike: list[tuple[Value, Value]] = field(default_factory=list)
    """Pairs a value from an incomplete last iteration with the same line's value in the loop's body, so that both are
    printed with one name.
    """

    def reroll(
        self, nodes: Sequence[Node], later: frozenset[Value], outermost: bool = False
    ) -> tuple[tuple[Node, ...], dict[Value, Value]]:
        """Turns repetitions in a sequence of nodes into loops; returns the nodes, and for each value that nodes `later`
        read the value that takes its place.
        """
        found = repetition(nodes, outermost)
        if found is None:
            return tuple(nodes), {}
        start, end = found.start, found.start + found.period * found.count
        before, new = self.reroll(nodes[:start], later | _reads(nodes[start:]))
        stops = found.count == 1
        if stops:
            end = len(nodes)
        blocks = _renamed(nodes[start:end], new)
        carriers = {own: Carried(next(self.number)) for own in found.carried}
        body, last = self._body(blocks, found, carriers)
        wanted = later | _reads(nodes[end:])
        lists = self._lists(blocks, found, wanted)
        body += [Collect(into, own) for own, into in lists.items()]
        body += [Copy(carrier, own) for own, carrier in carriers.items()]
        if stops:
            body.insert(found.rest, Stop(1))
        after_names = {**last, **_elements(blocks, found, lists)}
        inner = frozenset(after_names[ref] for ref in wanted if ref in after_names)
        rerolled, within = self.reroll(body, inner)
        after_names = {ref: within.get(name, name) for ref, name in after_names.items()}
        rest = list(_renamed(nodes[end:], {**new, **after_names}))
        if not stops and found.rest:
            self._continued(blocks, rest[: found.rest])
        after, newest = self.reroll(rest, later)
        further = [FurtherIteration(found.count)] if found.rest and not stops else []
        entry = [Copy(carriers[own], new.get(first, first)) for own, first in found.carried.items()]
        loop = Loop(rerolled, 2 if stops else found.count)
        names = {**new, **after_names}
        names = {ref: newest.get(name, name) for ref, name in names.items()} | newest
        return (*before, *map(Begin, lists.values()), *entry, loop, *further, *after), names

    def _body(
        self, blocks: Sequence[Node], found: Repetition, carriers: Mapping[Value, Carried]
    ) -> tuple[list[Node], dict[Value, Value]]:
        """Returns the first block of a repetition as the body of a loop, and for each value of the last block the value
        of the body that represents it after the loop.
        """
        body: list[Node] = []
        last: dict[Value, Value] = {}
        for offset in range(found.period):
            same = [line for line in blocks[offset :: found.period] if isinstance(line, Line)]
            its = [
                carriers[found.previous[offset, k]] if (offset, k) in found.previous else ref
                for k, ref in enumerate(same[0].reads)
            ]
            instances = {(*index, block): at for block, line in enumerate(same) for index, at in line.instances.items()}
            varies = any(line.varies or repr(line.step) != repr(same[0].step) for line in same)
            varies = varies and isinstance(same[0].step, Leaf)
            body.append(replace(same[0], reads=tuple(its), instances=instances, varies=varies))
            last.update(zip(same[-1].made, same[0].made, strict=True))
        return body, last

    def _lists(self, blocks: Sequence[Node], found: Repetition, wanted: frozenset[Value]) -> dict[Value, Collection]:
        """Makes a list for every value of a loop's body that is read after the loop from an iteration other than the
        last.
        """
        lists: dict[Value, Collection] = {}
        for at, ref, own in _made(blocks, found.period):
            if at < found.period * (found.count - 1) and ref in wanted and own not in lists:
                lists[own] = Collection(next(self.number), found.count)
        return lists

    def _continued(self, blocks: Sequence[Node], rest: Sequence[Node]) -> None:
        """Records in `alike` that the values of an incomplete iteration should have the names of the loop's values."""
        for line, first in zip(rest, blocks, strict=False):
            if isinstance(line, Line) and isinstance(first, Line):
                self.alike += zip(line.made, first.made, strict=True)


def _elements(blocks: Sequence[Node], found: Repetition, lists: Mapping[Value, Collection]) -> dict[Value, Value]:
    """For each value that a loop collects in a list, returns the element of that list which replaces the value after
    the loop.
    """
    made = _made(blocks, found.period)
    return {ref: Element(lists[own], at // found.period) for at, ref, own in made if own in lists}


def _made(blocks: Sequence[Node], period: int) -> Iterator[tuple[int, Value, Value]]:
    """The values that blocks make. Each comes with the line that makes it and the corresponding value of the first
    block.
    """
    for at, line in enumerate(blocks):
        first = blocks[at % period]
        assert isinstance(line, Line)
        assert isinstance(first, Line)
        yield from ((at, ref, own) for ref, own in zip(line.made, first.made, strict=True))


def _reads(nodes: Sequence[Node]) -> frozenset[Value]:
    return frozenset(ref for node in nodes for ref in reads(node))


def _renamed(nodes: Sequence[Node], new: Mapping[Value, Value]) -> list[Node]:
    def renamed(node: Node) -> Node:
        match node:
            case Line():
                return replace(node, reads=tuple(new.get(ref, ref) for ref in node.reads))
            case Copy(to, source):
                return Copy(to, new.get(source, source))
            case Collect(into, value):
                return Collect(into, new.get(value, value))
            case Begin() | Stop() | FurtherIteration() | Loop():
                return node
            case _:
                assert_never(node)

    return [renamed(node) for node in nodes]
