"""Programs with loops: lines that stand for one instruction in each of their turns, and what carries values on.

A line names values as the program does, by the first instruction that makes them; a carried value and a list have
names of their own. `walk` carries such a program out under names of any kind, and tells whether every line then reads
the very values that the program reads.
"""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from autograd_conformance.programs.language import Delete, Instruction, Modes, Ref
from autograd_conformance.programs.operands import refer

Index = tuple[int, ...]
"""Which turn of each loop around a line, the outermost first, from 0."""


@dataclass(frozen=True, slots=True)
class Line:
    """An instruction in its loops; it stands for those at `instances` of the program's lines, by the turns of loops.

    Where it is `owned`, it is something that an optimizer does, and reads that optimizer alone. `at` is the index of
    the program's instruction, or None for the making of an optimizer that no instruction makes. A leaf that `varies`
    has not the same data in all its instances.
    """

    step: Instruction
    reads: tuple[Ref, ...]
    made: tuple[Ref, ...]
    modes: Modes
    instances: Mapping[Index, int]
    at: int | None
    owned: bool = False
    varies: bool = False


@dataclass(frozen=True, slots=True)
class Copy:
    """A value gets another name: what a loop carries, before its first turn and at the end of every turn."""

    to: Ref
    source: Ref


@dataclass(frozen=True, slots=True)
class Begin:
    """An empty list."""

    into: Ref


@dataclass(frozen=True, slots=True)
class Collect:
    """A value is appended to a list."""

    into: Ref
    value: Ref


@dataclass(frozen=True, slots=True)
class Stop:
    """The program ends here in the given turn of the innermost loop."""

    turn: int


@dataclass(frozen=True, slots=True)
class Turn:
    """What follows are the first lines of a further turn, the number of which counts from 0."""

    number: int


@dataclass(frozen=True, slots=True)
class Loop:
    """Lines that are run `count` times."""

    body: tuple[Node, ...]
    count: int


Node = Line | Copy | Begin | Collect | Stop | Turn | Loop


@dataclass(frozen=True, slots=True)
class Rolled:
    """A program with loops; `lines` are those of the program, and `alike` pairs values that ought to share a name.

    A value in `elements` is an element of a list, by its number.
    """

    nodes: tuple[Node, ...]
    lines: tuple[Line, ...]
    elements: Mapping[Ref, tuple[Ref, int]]
    alike: tuple[tuple[Ref, Ref], ...]


def placed(step: Instruction, reads: Sequence[Ref]) -> Instruction:
    """The same instruction reading other values, in the order of `programs.operands.operands`."""
    return refer(step, _InTurn(iter(reads)))


class _InTurn(dict[Ref, Ref]):
    """Whatever is asked for, the next of some values."""

    def __init__(self, values: Iterator[Ref]) -> None:
        self.values_in_turn = values

    def __getitem__(self, _: Ref) -> Ref:
        return next(self.values_in_turn)


def reads(node: Node) -> tuple[Ref, ...]:
    """The values that a node itself reads."""
    match node:
        case Line():
            return node.reads
        case Copy(source=ref) | Collect(value=ref):
            return (ref,)
    return ()


def every(nodes: Sequence[Node]) -> Iterator[Node]:
    """Every node, those in loops included, in order."""
    for node in nodes:
        yield node
        if isinstance(node, Loop):
            yield from every(node.body)


class Misread(Exception):
    """With these names, a line reads another value than it has to."""


def walk(rolled: Rolled, name: Mapping[Ref, Hashable], until: int | None = None) -> dict[Hashable, object]:
    """What every name stands for in the end, or before line `until` of the program; `Misread` where a line goes wrong.

    Names stand for the program's own values, and those of lists for lists of them.
    """
    scope: dict[Hashable, object] = {}
    with contextlib.suppress(_End):
        _walk(rolled.nodes, (), rolled, name, scope, until)
    return scope


class _End(Exception):
    """The program, or what is asked for of it, ends here."""


def _walk(
    nodes: Sequence[Node],
    index: Index,
    rolled: Rolled,
    name: Mapping[Ref, Hashable],
    scope: dict[Hashable, object],
    until: int | None,
) -> None:
    def read(ref: Ref) -> object:
        try:
            if ref in rolled.elements:
                into, k = rolled.elements[ref]
                return scope[name[into]][k]  # type: ignore[index]
            return scope[name[ref]]
        except (KeyError, IndexError):
            raise Misread(ref) from None

    for node in nodes:
        match node:
            case Line():
                line = rolled.lines[node.instances[index]]
                if until is not None and node.instances[index] >= until:
                    raise _End
                if tuple(map(read, node.reads)) != line.reads:
                    raise Misread(node)
                if node.varies and scope.get(name[node.made[0]]) != ("data", node.made[0]):
                    raise Misread(node)  # the head of the loop hands its data on under its name
                scope.update({name[ref]: value for ref, value in zip(node.made, line.made, strict=True)})
                if isinstance(node.step, Delete):
                    for ref in node.reads:
                        scope.pop(name[ref], None)
            case Copy(to, source):
                scope[name[to]] = read(source)
            case Begin(into):
                scope[name[into]] = []
            case Collect(into, value):
                scope[name[into]].append(read(value))  # type: ignore[attr-defined]
            case Loop(body, count):
                for turn in range(count):
                    scope.update({name[ref]: ("data", ref) for ref in fed(node)})
                    _walk(body, (*index, turn), rolled, name, scope, until)
            case Stop(turn):
                if index[-1] == turn:
                    raise _End


def fed(loop: Loop) -> list[Ref]:
    """The leaves in the body itself whose data is not always the same: it has their names in the head of the loop."""
    return [node.made[0] for node in loop.body if isinstance(node, Line) and node.varies]
