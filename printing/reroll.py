"""Rolling an unrolled program: its repetitions become loops.

A program is straight-line: a training loop of three iterations stands in it three times. `roll` takes the repetition
that saves the most lines (`printing.repetition`) and makes a loop of it. What the blocks hand on is carried by a name
of its own, and what is read later of blocks that are not the last is collected in a list. The lines before the loop,
its body and the lines after it are rolled in the same way, so that loops may nest. Where the program ends within the
second turn already, the loop stops there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from autograd_conformance.printing.loop_nodes import (
    Begin,
    Collect,
    Copy,
    Line,
    Loop,
    Node,
    Rolled,
    Stop,
    Turn,
    every,
    reads,
)
from autograd_conformance.printing.repetition import Repeated, mark, repeated
from autograd_conformance.printing.straight_line import straight
from autograd_conformance.programs.language import Delete, Leaf, Program, Ref


@dataclass(slots=True)
class _Roller:
    fresh: int
    elements: dict[Ref, tuple[Ref, int]] = field(default_factory=dict)
    alike: list[tuple[Ref, Ref]] = field(default_factory=list)

    def ref(self) -> Ref:
        self.fresh -= 1
        return Ref(self.fresh)

    def roll(
        self, nodes: Sequence[Node], later: frozenset[Ref], outermost: bool = False
    ) -> tuple[tuple[Node, ...], dict[Ref, Ref]]:
        """The nodes with loops, and how values that are read `later` are to be called from now on."""
        found = repeated(nodes, outermost)
        if found is None:
            return tuple(nodes), {}
        start, end = found.start, found.start + found.period * found.count
        before, new = self.roll(nodes[:start], later | _reads(nodes[start:]))
        stops = found.count == 1
        if stops:
            end = len(nodes)
        blocks = _renamed(nodes[start:end], new)
        carriers = {kind: self.ref() for kind in found.carried}
        body, last = self._body(blocks, found, carriers)
        wanted = later | _reads(nodes[end:])
        lists = self._lists(blocks, found, wanted)
        body += [Collect(into, value) for value, into in lists.items()]
        body += [Copy(carrier, kind) for kind, carrier in carriers.items()]
        if stops:
            body.insert(found.rest, Stop(1))
        after_names = {**last, **self._elements(blocks, found, lists)}
        inner = frozenset(after_names[ref] for ref in wanted if ref in after_names)
        rolled, within = self.roll(body, inner)
        after_names = {ref: within.get(name, name) for ref, name in after_names.items()}
        rest = list(_renamed(nodes[end:], {**new, **after_names}))
        if not stops and found.rest:
            self._continued(blocks, rest[: found.rest])
        after, newest = self.roll(rest, later)
        turn = [Turn(found.count)] if found.rest and not stops else []
        entry = [Copy(carrier, new.get(first, first)) for kind, carrier in carriers.items()
                 for first in (found.carried[kind],)]  # fmt: skip
        loop = Loop(rolled, 2 if stops else found.count)
        names = {**new, **after_names}
        names = {ref: newest.get(name, name) for ref, name in names.items()} | newest
        return (*before, *(Begin(into) for into in lists.values()), *entry, loop, *turn, *after), names

    def _body(
        self, blocks: Sequence[Node], found: Repeated, carriers: Mapping[Ref, Ref]
    ) -> tuple[list[Node], dict[Ref, Ref]]:
        """The first block, standing for all of them, and what the values of the last one are called."""
        body: list[Node] = []
        last: dict[Ref, Ref] = {}
        for offset in range(found.period):
            same = [line for line in blocks[offset :: found.period] if isinstance(line, Line)]
            its = [
                carriers[found.previous[offset, k]] if (offset, k) in found.previous else ref
                for k, ref in enumerate(same[0].reads)
            ]
            instances = {(*index, turn): at for turn, line in enumerate(same) for index, at in line.instances.items()}
            varies = any(line.varies or repr(line.step) != repr(same[0].step) for line in same) and bool(same[0].made)
            varies = varies and isinstance(same[0].step, Leaf)
            body.append(replace(same[0], reads=tuple(its), instances=instances, varies=varies))
            last.update(zip(same[-1].made, same[0].made, strict=True))
        return body, last

    def _lists(self, blocks: Sequence[Node], found: Repeated, wanted: frozenset[Ref]) -> dict[Ref, Ref]:
        """A list for every value of the body that is wanted of a block that is not the last."""
        lists: dict[Ref, Ref] = {}
        for at, line in enumerate(blocks[: found.period * (found.count - 1)]):
            first = blocks[at % found.period]
            assert isinstance(line, Line)
            assert isinstance(first, Line)
            for ref, its in zip(line.made, first.made, strict=True):
                if ref in wanted and its not in lists:
                    lists[its] = self.ref()
        return lists

    def _elements(self, blocks: Sequence[Node], found: Repeated, lists: Mapping[Ref, Ref]) -> dict[Ref, Ref]:
        """What the values of all blocks are called that are in lists."""
        names: dict[Ref, Ref] = {}
        for at, line in enumerate(blocks):
            first = blocks[at % found.period]
            assert isinstance(line, Line)
            assert isinstance(first, Line)
            for ref, its in zip(line.made, first.made, strict=True):
                if its in lists:
                    names[ref] = self.ref()
                    self.elements[names[ref]] = (lists[its], at // found.period)
        return names

    def _continued(self, blocks: Sequence[Node], rest: Sequence[Node]) -> None:
        """The lines of a further turn make what the body makes."""
        for line, first in zip(rest, blocks, strict=False):
            if isinstance(line, Line) and isinstance(first, Line):
                self.alike += zip(line.made, first.made, strict=True)


def _reads(nodes: Sequence[Node]) -> frozenset[Ref]:
    return frozenset(ref for node in nodes for ref in reads(node))


def _renamed(nodes: Sequence[Node], new: Mapping[Ref, Ref]) -> list[Node]:
    def renamed(node: Node) -> Node:
        match node:
            case Line():
                return replace(node, reads=tuple(new.get(ref, ref) for ref in node.reads))
            case Copy(to, source):
                return Copy(to, new.get(source, source))
            case Collect(into, value):
                return Collect(into, new.get(value, value))
            case _:
                return node

    return [renamed(node) for node in nodes]


def roll(program: Program) -> Rolled | None:
    """A program with loops, or None where nothing repeats."""
    lines = straight(program)
    ways = [rolled for each in (lines, _hoisted(lines)) if (rolled := _rolled(each)) is not None]
    return min(ways, key=lambda rolled: sum(1 for _ in every(rolled.nodes)), default=None)


def _hoisted(lines: Sequence[Line]) -> list[Line]:
    """The lines with the leaves in front that lines of one kind read in one place: they are no data of one turn."""
    readers: dict[tuple[Ref, str, int], int] = {}
    for line in lines:
        for k, ref in enumerate(line.reads):
            kind = (ref, mark(line, 0), k)
            readers[kind] = readers.get(kind, 0) + 1
    often = {ref for (ref, _, _), count in readers.items() if count > 1}
    moved = sorted(lines, key=lambda line: not (isinstance(line.step, Leaf) and line.made[0] in often))
    return [replace(line, instances={(): at}) for at, line in enumerate(moved)]


def _rolled(lines: Sequence[Line]) -> Rolled | None:
    roller = _Roller(-1 - len(lines))
    nodes, _ = roller.roll(lines, frozenset(), outermost=True)
    found = Rolled(nodes, tuple(lines), roller.elements, tuple(roller.alike))
    deleted = {ref for node in every(nodes) if isinstance(node, Line) and isinstance(node.step, Delete)
               for ref in node.reads}  # fmt: skip
    if not any(isinstance(node, Loop) for node in nodes) or deleted & set(roller.elements):
        return None
    return found
