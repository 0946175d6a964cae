"""Programs with loops: lines that stand for one instruction in every iteration, and how loops hand values on.

`interpret` carries such a program out under names of any kind, and tells whether every line then reads the very values
that the program reads.
"""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from autograd_conformance.programs.language import Attrs, Delete, Instruction, Modes, Ref

Index = tuple[int, ...]
"""An iteration of each loop around a line, the outermost first, counted from 0."""


@dataclass(frozen=True, slots=True)
class OptimizerObject:
    """An optimizer, as a value that its steps read."""

    number: int
    """How many were made before it."""


@dataclass(frozen=True, slots=True)
class Carried:
    """A variable that a loop hands on from each iteration to the next."""

    number: int
    """Tells it from other variables of the program."""


@dataclass(frozen=True, slots=True)
class Collection:
    """A list that a loop appends a value to in each iteration."""

    number: int
    """Tells it from other lists of the program."""
    length: int
    """How many elements it has in the end."""


@dataclass(frozen=True, slots=True)
class Element:
    """An element of a list."""

    of: Collection
    """The list."""
    index: int
    """The element's number in it, from 0."""


Value = Ref | OptimizerObject | Carried | Collection | Element
"""What lines read and make. A value of a loop's body is called as in the first iteration."""


@dataclass(frozen=True, slots=True)
class ModuleObject:
    """A module with parameters of its own, as a variable."""

    op: str
    """The op that a call of it is."""
    attrs: Attrs
    """The op's attributes."""
    made: str
    """The code that makes it."""
    parameters: tuple[tuple[Value, str], ...]
    """The leaves that are its parameters, with their names in it."""


@dataclass(frozen=True, slots=True)
class Line:
    """An instruction in its loops."""

    step: Instruction
    """The instruction, as it stands in the first iteration."""
    reads: tuple[Value, ...]
    """The values that it reads; of an optimizer's steps and clearings, that optimizer alone."""
    made: tuple[Value, ...]
    """The values that it makes."""
    modes: Modes
    """The grad modes that it stands under."""
    instances: Mapping[Index, int]
    """The lines of the program without loops that it stands for, by iteration."""
    at: int | None
    """The index of the program's instruction; None for the making of an optimizer that no instruction makes."""
    by_optimizer: bool = False
    """Whether it is something that an optimizer does."""
    varies: bool = False
    """Whether it is a leaf whose data is not the same in all its instances."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A value gets another name: what a loop carries, before its first iteration and at the end of every one."""

    to: Carried
    source: Value


@dataclass(frozen=True, slots=True)
class Begin:
    """An empty list."""

    into: Collection


@dataclass(frozen=True, slots=True)
class Collect:
    """A value is appended to a list."""

    into: Collection
    value: Value


@dataclass(frozen=True, slots=True)
class Stop:
    """The program ends here in the given iteration of the innermost loop, counted from 0."""

    iteration: int


@dataclass(frozen=True, slots=True)
class FurtherIteration:
    """What follows are the first lines of one more iteration, the number of which counts from 0."""

    number: int


@dataclass(frozen=True, slots=True)
class Loop:
    """Lines that are run `count` times."""

    body: tuple[Node, ...]
    count: int


Node = Line | Copy | Begin | Collect | Stop | FurtherIteration | Loop


@dataclass(frozen=True, slots=True)
class Rerolled:
    """A program with loops."""

    nodes: tuple[Node, ...]
    """Its lines and loops, in order."""
    lines: tuple[Line, ...]
    """The lines of the program without loops."""
    alike: tuple[tuple[Value, Value], ...]
    """Pairs of values that ought to share a name."""


def reads(node: Node) -> tuple[Value, ...]:
    """The values that a node itself reads."""
    match node:
        case Line():
            return node.reads
        case Copy(source=ref) | Collect(value=ref):
            return (ref,)
        case Begin() | Stop() | FurtherIteration() | Loop():
            return ()
        case _:
            assert_never(node)


def all_nodes(nodes: Sequence[Node]) -> Iterator[Node]:
    """Every node, those in loops included, in order."""
    for node in nodes:
        yield node
        if isinstance(node, Loop):
            yield from all_nodes(node.body)


def varying(loop: Loop) -> list[Line]:
    """The leaves in the body itself whose data is not always the same: the loop's head gives it to them."""
    return [node for node in loop.body if isinstance(node, Line) and node.varies]


class Misread(Exception):
    """With these names, a line reads another value than it has to."""


Scope = dict[Hashable, object]
"""What every name stands for: a value of the program without loops, or a list of them."""


def interpret(rerolled: Rerolled, name: Mapping[Value, Hashable], until: int | None = None) -> Scope:
    """What every name stands for in the end, or before line `until`; `Misread` where a line goes wrong."""
    scope: Scope = {}
    with contextlib.suppress(_End):
        _interpret(rerolled.nodes, (), rerolled, name, scope, until)
    return scope


class _End(Exception):
    """The program, or what is asked for of it, ends here."""


def _interpret(
    nodes: Sequence[Node],
    index: Index,
    rerolled: Rerolled,
    name: Mapping[Value, Hashable],
    scope: Scope,
    until: int | None,
) -> None:
    def read(ref: Value) -> object:
        try:
            if isinstance(ref, Element):
                return scope[name[ref.of]][ref.index]  # type: ignore[index]
            return scope[name[ref]]
        except (KeyError, IndexError):
            raise Misread(ref) from None

    for node in nodes:
        match node:
            case Line():
                line = rerolled.lines[node.instances[index]]
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
                for iteration in range(count):
                    scope.update({name[leaf.made[0]]: ("data", leaf.made[0]) for leaf in varying(node)})
                    _interpret(body, (*index, iteration), rerolled, name, scope, until)
            case Stop(iteration):
                if index[-1] == iteration:
                    raise _End
            case FurtherIteration():
                pass
            case _:
                assert_never(node)
