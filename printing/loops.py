"""A program as a person would write it: its training loop as a loop, its values under names that say what they are.

`loop` writes what `printing.reroll` found under the names of `printing.variable_names`, in a framework's own code.
Run, it does what the program's lines do one by one (`printing.dialect.code`): the same values, gradients and errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count, groupby, product

from autograd_conformance.printing import dialect as dialects
from autograd_conformance.printing.dialect import Dialect, tensor
from autograd_conformance.printing.loop_nodes import (
    Begin,
    Collect,
    Copy,
    Index,
    Line,
    Loop,
    Node,
    Rolled,
    Stop,
    Turn,
    fed,
    placed,
)
from autograd_conformance.printing.module_objects import PARAMETER, Owner, called, owners
from autograd_conformance.printing.reroll import roll
from autograd_conformance.printing.variable_names import RESERVED, names
from autograd_conformance.programs.language import Apply, Leaf, Optimizer, Program, Ref, Step, ZeroGrad

WIDTH = 96
"""The columns up to which the data of a loop stands in its head."""

EACH, PARTS, BATCHES = "p", "parts", "batches"
"""Names of the loops' own: for what is cleared, for the data of a loop in a loop, for data in lines of its own."""


def loop(
    program: Program, dialect: Dialect | None, at: int | None = None, known: Mapping[Ref, str] | None = None
) -> str | None:
    """The program with loops, instruction `at` being marked; None where nothing repeats, or it cannot be written.

    Where others speak of leaves by names that are `known`, a comment tells them.
    """
    if dialect is None or not _able(program, dialect):
        return None
    rolled = roll(program)
    modules = owners(rolled, dialect) if rolled else ()
    name = names(rolled, modules) if rolled else None
    if rolled is None or name is None:
        return None
    return "\n".join(_Writer(rolled, modules, name, dialect, at, known or {}).lines(rolled.nodes, ()))


def _able(program: Program, dialect: Dialect) -> bool:
    """Whether the dialect has what loops need of it."""
    steps = any(isinstance(step, (Step, Optimizer)) for step in program)
    return bool(not steps or (dialect.optimizer and dialect.step_again and dialect.clear))


@dataclass(slots=True)
class _Writer:
    rolled: Rolled
    modules: Sequence[Owner]
    name: Mapping[Ref, str]
    dialect: Dialect
    at: int | None
    known: Mapping[Ref, str]
    further: int | None = None
    """The number of the turn that the lines behind a loop begin, from 0."""
    taken: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.taken = set(self.name.values()) | RESERVED

    def lines(self, nodes: Sequence[Node], around: tuple[int, ...]) -> Iterator[str]:
        """The lines of a body; `around` counts the turns of the loops around it."""
        for modes, together in groupby(nodes, lambda node: node.modes if isinstance(node, Line) else ()):
            told = [text for node in together for text in self._node(node, around)]
            if modes and told:
                entered = ", ".join(self.dialect.modes[mode] for mode in modes)
                yield self.dialect.under.format(modes=entered, line="").rstrip()
                told = list(_indented(told))
            yield from told

    def _node(self, node: Node, around: tuple[int, ...]) -> Iterator[str]:
        match node:
            case Line():
                yield from self._owner(node)
                first, *more = self._line(node)
                its = self.known.get(node.made[0]) if isinstance(node.step, Leaf) and () in node.instances else None
                known = f"  # {its}" if its is not None and its != self.name[node.made[0]] else ""
                yield first + known + self._mark(node)
                yield from more
            case Copy(to, source):
                if self.name[to] != self.name[source]:
                    yield f"{self.name[to]} = {self.name[source]}"
            case Begin(into):
                yield f"{self.name[into]} = []"
            case Collect(into, value):
                yield f"{self.name[into]}.append({self.name[value]})"
            case Stop(turn):
                yield f"if iteration == {turn + 1}:"
                yield "    break  # the program ends here"
            case Turn(number):
                self.further = number
                yield f"# iteration {number + 1}"
            case Loop(body, turns):
                yield from self._head(node, around)
                yield from _indented(self.lines(body, (*around, turns)))

    # -- loops and their data

    def _head(self, loop: Loop, around: tuple[int, ...]) -> Iterator[str]:
        targets = [self.name[ref] for ref in fed(loop)] + [PARTS for _ in self._inner(loop, around)]
        counted = any(isinstance(node, Stop) for node in loop.body)
        if not targets:
            turns = f"range(1, {loop.count + 1})" if counted else f"range({loop.count})"
            yield f"for {'iteration' if counted else '_'} in {turns}:"
            return
        data = PARTS
        if not self._handed(loop, around):
            rows = self._rows(loop, around, (0,) * len(around))
            data = f"[{', '.join(rows)}]"
            if len(data) + len(", ".join(targets)) > WIDTH:
                data = self._fresh(BATCHES)
                yield f"{data} = ["
                yield from (f"    {row}," for row in rows)
                yield "]"
        if counted:
            several = f"({', '.join(targets)})" if len(targets) > 1 else targets[0]
            yield f"for iteration, {several} in enumerate({data}, 1):"
        else:
            yield f"for {', '.join(targets)} in {data}:"

    def _inner(self, loop: Loop, around: tuple[int, ...]) -> list[Loop]:
        """The loops in a body whose data is another in every turn of what is around them."""
        inner = (node for node in loop.body if isinstance(node, Loop))
        return [node for node in inner if self._handed(node, (*around, loop.count))]

    def _handed(self, loop: Loop, around: tuple[int, ...]) -> bool:
        turns = product(*(range(count) for count in around))
        return len({tuple(self._rows(loop, around, index)) for index in turns}) > 1

    def _rows(self, loop: Loop, around: tuple[int, ...], index: Index) -> list[str]:
        """The data of each turn of a loop, in one turn of the loops around it."""
        rows = []
        for turn in range(loop.count):
            here = (*index, turn)
            leaves = (node for node in loop.body if isinstance(node, Line) and node.varies)
            parts = [self._data(leaf, here) for leaf in leaves]
            for inner in self._inner(loop, around):
                parts.append(f"[{', '.join(self._rows(inner, (*around, loop.count), here))}]")
            rows.append(parts[0] if len(parts) == 1 else f"({', '.join(parts)})")
        return rows

    def _data(self, leaf: Line, index: Index) -> str:
        """A leaf's data in one turn; where the program ends before it, that of another turn stands in its place."""
        at = leaf.instances.get(index, next(iter(leaf.instances.values())))
        step = self.rolled.lines[at].step
        assert isinstance(step, Leaf)
        return tensor(step.value, replace(self.dialect, tensor="{data}"))

    # -- lines

    def _line(self, line: Line) -> list[str]:
        made = ", ".join(self.name[ref] for ref in line.made)
        owner = next((o for o in self.modules if o.parameters.keys() & {*line.reads[-1:], *line.made}), None)
        match line.step:
            case Leaf(value) if owner:
                return [f"{made} = {PARAMETER}({tensor(value, self.dialect)})"]
            case Apply(op, _, attrs) if owner and (op, attrs) == (owner.op, owner.attrs):
                return [called(line, owner, self.name, self.dialect)]
            case Leaf(value, requires_grad) if line.varies:
                flags = self.dialect.differentiable if requires_grad else ""
                made_of = self.dialect.tensor.format(data=made, dtype=value.dtype, flags=flags)
                return [f"{made} = {made_of}"]
            case Optimizer():
                return [f"{made} = {self._told(line).partition(' = ')[2]}"]
            case Step():
                return [self.dialect.step_again.format(name=self.name[line.reads[0]])]
            case ZeroGrad(_, set_to_none) if line.owned:
                cleared = self.dialect.clear.format(name=self.name[line.reads[0]], set_to_none=set_to_none)
                return [cleared.replace("(set_to_none=True)", "()")]
            case ZeroGrad((_, _, *_), set_to_none):
                each = self.dialect.clear_to_none if set_to_none else self.dialect.clear_to_zeros
                leaves = self._parameters(f"[{', '.join(self.name[ref] for ref in line.reads)}]")
                leaves = f"({leaves[1:-1]})" if leaves[0] == "[" else leaves
                return [f"for {EACH} in {leaves}:", f"    {each.format(leaf=EACH)}"]
        return [self._told(line)]

    def _told(self, line: Line) -> str:
        """The line as the dialect tells it; a list's elements in their order are the list."""
        makes, reads = len(line.made), [Ref(1 + k) for k in range(len(line.reads))]
        its = {ref: self.name[name] for ref, name in zip(reads, line.reads, strict=True)}
        its |= {Ref(0, k): self.name[line.made[k]] for k in range(makes)}
        told = dialects.line(0, Program((placed(line.step, reads),)), its, self.dialect)
        for into in {self.rolled.elements[ref][0] for ref in line.reads if ref in self.rolled.elements}:
            elements = [ref for ref, (other, _) in self.rolled.elements.items() if other == into]
            told = told.replace(f"[{', '.join(self.name[ref] for ref in elements)}]", self.name[into])
        return self._parameters(told)

    def _owner(self, line: Line) -> Iterator[str]:
        """The making of a module, in front of the first of its parameters."""
        for owner in self.modules:
            if line.made and line.made[0] == next(iter(owner.parameters)):
                yield f"{self.name[owner.ref]} = {owner.made}"

    def _parameters(self, told: str) -> str:
        """A line in which all parameters of a module in a list are called so."""
        for owner in self.modules:
            listed, every = (
                ", ".join(self.name[ref] for ref in owner.parameters),
                f"{self.name[owner.ref]}.parameters()",
            )
            told = told.replace(f"[{listed}]", every).replace(f"[{listed}, ", f"[*{every}, ")
            told = told.replace(f", {listed}]", f", *{every}]").replace(f", {listed}, ", f", *{every}, ")
        return told

    def _mark(self, line: Line) -> str:
        """A comment on the line that fails, and on the turn in which it does."""
        for index, number in line.instances.items():
            if self.at is not None and self.rolled.lines[number].at == self.at:
                turns = [turn + 1 for turn in index] or ([] if self.further is None else [self.further + 1])
                where = "".join(f", in {'iteration' if k == 0 else 'inner iteration'} {t}" for k, t in enumerate(turns))
                return f"  # <-- here{where}"
        return ""

    def _fresh(self, word: str) -> str:
        numbered = next(w for w in chain([word], (f"{word}_{k}" for k in count(2))) if w not in self.taken)
        self.taken.add(numbered)
        return numbered


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"    {line}" for line in lines)
