"""Programs with loops: each line represents one instruction in every iteration, and loops carry values between
iterations.

`interpret` executes such a program symbolically, with names of any kind. It shows whether every line then reads the
same values as in the original program.
"""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from autograd_conformance.programs.language import Attrs, Delete, Instruction, Modes, Ref

Index = tuple[int, ...]
"""The iteration numbers of all loops around a line, the outermost first, counted from 0."""


@dataclass(frozen=True, slots=True)
class OptimizerObject:
    """An optimizer object, treated as a value that every line with a call of the optimizer's methods reads."""

    number: int
    """Number of optimizers that the program made earlier."""


@dataclass(frozen=True, slots=True)
class Carried:
    """A variable that a loop carries from each iteration to the next."""

    number: int
    """Number that distinguishes this variable from the program's other variables and lists."""


@dataclass(frozen=True, slots=True)
class Collection:
    """A list that a loop appends a value to in each iteration."""

    number: int
    """Number that distinguishes this list from the program's other variables and lists."""
    length: int
    """Number of elements after the loop."""


@dataclass(frozen=True, slots=True)
class Element:
    """An element of a list that a loop filled, as a value that later lines read."""

    of: Collection
    """The list that contains the element."""
    index: int
    """The position of the element, from 0."""


Value = Ref | OptimizerObject | Carried | Collection | Element
"""The values that lines read and make. A value that a loop's body makes in each iteration is represented by the value
of the first iteration.
"""


@dataclass(frozen=True, slots=True)
class ModuleObject:
    """A module object that owns its parameters, such as ``linear = torch.nn.Linear(2, 3)``, as a variable of printed
    code.
    """

    op: str
    """The name of the op that calls the module, such as ``nn_linear``."""
    attrs: Attrs
    """The attributes of the op that calls the module."""
    made: str
    """The code that constructs the module."""
    parameters: tuple[tuple[Value, str], ...]
    """The leaves that are the module's parameters, with their names in the module."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a program with loops, which represents one instruction in every iteration of the loops around
    the line.
    """

    step: Instruction
    """The instruction that the line represents in the first iteration."""
    reads: tuple[Value, ...]
    """The values that the line reads; for a call of an optimizer's method, only the optimizer."""
    made: tuple[Value, ...]
    """The values that the line makes."""
    modes: Modes
    """The grad modes under which the line runs."""
    instances: Mapping[Index, int]
    """The numbers of the lines of the program without loops that this line represents, by iteration."""
    at: int | None
    """The index of the program's instruction; None for the construction of an optimizer without an instruction of the
    program."""
    by_optimizer: bool = False
    """Whether the line is a call of an optimizer's method."""
    varies: bool = False
    """Whether the line makes a leaf whose data differs between iterations."""


@dataclass(frozen=True, slots=True)
class Copy:
    """The assignment of a value to a carried variable, before the first iteration and at the end of each one."""

    to: Carried
    source: Value


@dataclass(frozen=True, slots=True)
class Begin:
    """The assignment of an empty list, before the loop that appends to the list."""

    into: Collection


@dataclass(frozen=True, slots=True)
class Collect:
    """The appending of a value to a list."""

    into: Collection
    value: Value


@dataclass(frozen=True, slots=True)
class Stop:
    """The place in a loop's body at which the program ends, in the given iteration of that loop, counted from 0."""

    iteration: int


@dataclass(frozen=True, slots=True)
class FurtherIteration:
    """Marks the place after a loop where the lines of one more, incomplete iteration begin. The number of the iteration
    counts from 0.
    """

    number: int


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop: a body of lines and inner loops that runs `count` times."""

    body: tuple[Node, ...]
    count: int


Node = Line | Copy | Begin | Collect | Stop | FurtherIteration | Loop


@dataclass(frozen=True, slots=True)
class Rerolled:
    """A straight-line program rewritten with loops, together with the original lines."""

    nodes: tuple[Node, ...]
    """The lines and loops of the program, in order."""
    lines: tuple[Line, ...]
    """The lines of the program without loops."""
    alike: tuple[tuple[Value, Value], ...]
    """Pairs a value from an incomplete last iteration with the same line's value in the loop's body, so that both are
    printed with one name.
    """


def reads(node: Node) -> tuple[Value, ...]:
    """Returns the values that a node reads; for a loop, none, because the nodes of its body read values."""
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
    """Every node in order, including those in loops."""
    for node in nodes:
        yield node
        if isinstance(node, Loop):
            yield from all_nodes(node.body)


def varying(loop: Loop) -> list[Line]:
    """Returns the lines directly in a loop's body that make leaves whose data varies; the head of the loop assigns that
    data.
    """
    return [node for node in loop.body if isinstance(node, Line) and node.varies]


class Misread(Exception):
    """Raised if a line of a program with loops reads, under the names to be used, another value than in the program
    without loops.
    """


Scope = dict[Hashable, object]
"""The current meaning of every name: a value of the program without loops, or a list of such values."""


def interpret(rerolled: Rerolled, name: Mapping[Value, Hashable], until: int | None = None) -> Scope:
    """Executes a program with loops symbolically and returns the value of every name at the end, or before line
    `until`. Raises `Misread` if a line reads another value than in the program without loops.
    """
    scope: Scope = {}
    with contextlib.suppress(_End):
        _interpret(rerolled.nodes, (), rerolled, name, scope, until)
    return scope


class _End(Exception):
    """Raised to end the symbolic execution at the end of the program, or before the line `until`."""


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
                    raise Misread(node)  # the head of the loop assigns the data to this name
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
