"""Programs with their training loops as loops, and with descriptive names.

`loop` prints the loops that `printing.reroll` finds, with the names of `printing.variable_names`, in a framework's
code. Running this code computes the same values, gradients and errors as the program's lines one by one
(`printing.dialect.code`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count, groupby, product
from typing import assert_never

from autograd_conformance.printing import dialect as dialects
from autograd_conformance.printing.dialect import Dialect, tensor
from autograd_conformance.printing.loop_nodes import (
    Begin,
    Collect,
    Copy,
    Element,
    FurtherIteration,
    Index,
    Line,
    Loop,
    ModuleObject,
    Node,
    Rerolled,
    Stop,
    Value,
    varying,
)
from autograd_conformance.printing.module_objects import called, module_objects
from autograd_conformance.printing.reroll import reroll
from autograd_conformance.printing.variable_names import RESERVED, names
from autograd_conformance.programs.language import (
    Apply,
    Leaf,
    Optimizer,
    Program,
    Ref,
    Step,
    ZeroGrad,
)
from autograd_conformance.programs.operands import with_operands

WIDTH = 96
"""Maximum number of columns of the data and targets in the head of a loop; longer data is assigned to a variable before
the loop.
"""

EACH, PARTS, BATCHES = "p", "parts", "batches"
"""Names that printed loops introduce: for the leaves whose gradients a loop clears, for the data of an inner loop, and
for data that is assigned before a loop.
"""


def loop(
    program: Program, dialect: Dialect | None, at: int | None = None, known: Mapping[Ref, str] | None = None
) -> str | None:
    """Writes a program with its repetitions as loops, with instruction `at` marked; returns None if nothing repeats, or
    if the loops cannot be written.

    Comments give the names in `known` of leaves that other code refers to by those names.
    """
    if dialect is None or not _has_templates(program, dialect):
        return None
    rerolled = reroll(program)
    if rerolled is None:
        return None
    modules = module_objects(rerolled, dialect)
    name = names(rerolled, modules)
    if name is None:
        return None
    return "\n".join(_Writer(rerolled, modules, name, dialect, at, known or {}).lines(rerolled.nodes, ()))


def _has_templates(program: Program, dialect: Dialect) -> bool:
    """Whether a dialect has the templates for optimizers that a program with loops needs, if the program has
    optimizers.
    """
    steps = any(isinstance(step, (Step, Optimizer)) for step in program)
    return bool(not steps or (dialect.optimizer and dialect.step_again and dialect.clear))


@dataclass(slots=True)
class _Writer:
    rerolled: Rerolled
    modules: Sequence[ModuleObject]
    name: Mapping[Value | ModuleObject, str]
    dialect: Dialect
    at: int | None
    """The number of the program's instruction that a comment marks as the failing one."""
    known: Mapping[Ref, str]
    """The names of leaves in other code, such as the listing of the program without loops; comments give them."""
    further: int | None = None
    """The number of the incomplete iteration whose lines follow a loop, from 0."""
    taken: set[str] = field(default_factory=set)
    """Names that the printed code already uses."""
    module_of: dict[Value, ModuleObject] = field(default_factory=dict)
    """The module of each leaf that is a module's parameter."""

    def __post_init__(self) -> None:
        self.taken = set(self.name.values()) | RESERVED
        self.module_of = {ref: module for module in self.modules for ref, _ in module.parameters}

    def lines(self, nodes: Sequence[Node], around: tuple[int, ...]) -> Iterator[str]:
        """Yields the lines of code of a loop's body, or of the whole program; `around` contains the numbers of
        iterations of the loops around the body.
        """
        for modes, together in groupby(nodes, lambda node: node.modes if isinstance(node, Line) else ()):
            code = [text for node in together for text in self._node(node, around)]
            if modes and code:
                entered = ", ".join(self.dialect.modes[mode] for mode in modes)
                yield self.dialect.under.format(modes=entered, line="").rstrip()
                code = list(_indented(code))
            yield from code

    def _node(self, node: Node, around: tuple[int, ...]) -> Iterator[str]:
        match node:
            case Line():
                yield from self._making(node)
                first, *more = self._line(node)
                yield first + self._known(node) + self._mark(node)
                yield from more
            case Copy(to, source):
                if self.name[to] != self.name[source]:
                    yield f"{self.name[to]} = {self.name[source]}"
            case Begin(into):
                yield f"{self.name[into]} = []"
            case Collect(into, value):
                yield f"{self.name[into]}.append({self.name[value]})"
            case Stop(iteration):
                yield f"if iteration == {iteration + 1}:"
                yield "    break  # the program ends here"
            case FurtherIteration(number):
                self.further = number
                yield f"# iteration {number + 1}"
            case Loop(body, iterations):
                yield from self._head(node, around)
                yield from _indented(self.lines(body, (*around, iterations)))
            case _:
                assert_never(node)

    # -- loops and their data

    def _head(self, loop: Loop, around: tuple[int, ...]) -> Iterator[str]:
        targets = [self.name[leaf.made[0]] for leaf in varying(loop)] + [PARTS for _ in self._inner(loop, around)]
        counted = any(isinstance(node, Stop) for node in loop.body)
        if not targets:
            iterations = f"range(1, {loop.count + 1})" if counted else f"range({loop.count})"
            yield f"for {'iteration' if counted else '_'} in {iterations}:"
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
        """Returns the inner loops in a loop's body whose data differs between iterations of the outer loops."""
        inner = (node for node in loop.body if isinstance(node, Loop))
        return [node for node in inner if self._handed(node, (*around, loop.count))]

    def _handed(self, loop: Loop, around: tuple[int, ...]) -> bool:
        iterations = product(*(range(count) for count in around))
        return len({tuple(self._rows(loop, around, index)) for index in iterations}) > 1

    def _rows(self, loop: Loop, around: tuple[int, ...], index: Index) -> list[str]:
        """Returns the code of the data for each iteration of a loop, within the iteration `index` of the outer
        loops.
        """
        rows = []
        for iteration in range(loop.count):
            here = (*index, iteration)
            parts = [self._data(leaf, here) for leaf in varying(loop)]
            for inner in self._inner(loop, around):
                parts.append(f"[{', '.join(self._rows(inner, (*around, loop.count), here))}]")
            rows.append(parts[0] if len(parts) == 1 else f"({', '.join(parts)})")
        return rows

    def _data(self, leaf: Line, index: Index) -> str:
        """Returns the code of a leaf's data in one iteration, or, if the program ends before the leaf is made in that
        iteration, in another iteration.
        """
        at = leaf.instances.get(index, next(iter(leaf.instances.values())))
        step = self.rerolled.lines[at].step
        assert isinstance(step, Leaf)
        return tensor(step.value, replace(self.dialect, tensor="{data}"))

    # -- lines

    def _line(self, line: Line) -> list[str]:
        match line.step:
            case Leaf():
                return [self._leaf(line, line.step)]
            case Apply(op, _, attrs):
                module = self.module_of.get(line.reads[-1]) if line.reads else None
                if module and (op, attrs) == (module.op, module.attrs):
                    return [called(line, module, self.name, self.dialect)]
                return [self._code(line)]
            case Optimizer():
                return [f"{self.name[line.made[0]]} = {self._code(line).partition(' = ')[2]}"]
            case Step():
                return [self.dialect.step_again.format(name=self.name[line.reads[0]])]
            case ZeroGrad():
                return self._clearing(line, line.step)
            case _:
                return [self._code(line)]

    def _leaf(self, line: Line, leaf: Leaf) -> str:
        made = self.name[line.made[0]]
        if line.made[0] in self.module_of:
            return f"{made} = {self.dialect.parameter.format(tensor=tensor(leaf.value, self.dialect))}"
        if not line.varies:
            return self._code(line)
        flags = self.dialect.differentiable if leaf.requires_grad else ""
        return f"{made} = {self.dialect.tensor.format(data=made, dtype=leaf.value.dtype, flags=flags)}"

    def _clearing(self, line: Line, step: ZeroGrad) -> list[str]:
        if line.by_optimizer:
            cleared = self.dialect.clear.format(name=self.name[line.reads[0]], set_to_none=step.set_to_none)
            return [cleared.replace("(set_to_none=True)", "()")]
        if len(step.leaves) == 1:
            return [self._code(line)]
        each = self.dialect.clear_to_none if step.set_to_none else self.dialect.clear_to_zeros
        leaves = self._parameters(f"[{', '.join(self.name[ref] for ref in line.reads)}]")
        leaves = f"({leaves[1:-1]})" if leaves[0] == "[" else leaves
        return [f"for {EACH} in {leaves}:", f"    {each.format(leaf=EACH)}"]

    def _code(self, line: Line) -> str:
        """Writes a line in the framework's code; a list of all elements of a Python list (``[xs[0], xs[1]]``) is
        written as that list (``xs``).
        """
        reads = [Ref(1 + k) for k in range(len(line.reads))]
        its = {ref: self.name[read] for ref, read in zip(reads, line.reads, strict=True)}
        its |= {Ref(0, k): self.name[made] for k, made in enumerate(line.made)}
        code = dialects.line(0, Program((with_operands(line.step, reads),)), its, self.dialect)
        for into in {ref.of for ref in line.reads if isinstance(ref, Element)}:
            elements = ", ".join(f"{self.name[into]}[{k}]" for k in range(into.length))
            code = code.replace(f"[{elements}]", self.name[into])
        return self._parameters(code)

    def _making(self, line: Line) -> Iterator[str]:
        """Yields the line of code that constructs a module, if the next printed line makes the first of that module's
        parameters.
        """
        module = self.module_of.get(line.made[0]) if line.made else None
        if module and line.made[0] == module.parameters[0][0]:
            yield f"{self.name[module]} = {module.made}"

    def _parameters(self, code: str) -> str:
        """Replaces lists of all parameters of a module in a line of code: ``[linear.weight, linear.bias]`` becomes
        ``linear.parameters()``.
        """
        for module in self.modules:
            listed = ", ".join(self.name[ref] for ref, _ in module.parameters)
            every = f"{self.name[module]}.parameters()"
            code = code.replace(f"[{listed}]", every).replace(f"[{listed}, ", f"[*{every}, ")
            code = code.replace(f", {listed}]", f", *{every}]").replace(f", {listed}, ", f", *{every}, ")
        return code

    def _known(self, line: Line) -> str:
        """Returns a comment with the name of a leaf in other code (`` # w``), if that name differs; else an
        empty text.
        """
        made = line.made[0] if isinstance(line.step, Leaf) and () in line.instances else None
        its = self.known.get(made) if isinstance(made, Ref) else None
        return f"  # {its}" if made is not None and its not in (None, self.name[made]) else ""

    def _mark(self, line: Line) -> str:
        """Returns a comment that marks the failing line, with the iteration in which it fails: `` # <-- here, in
        iteration 2``; an empty text for other lines.
        """
        for index, number in line.instances.items():
            if self.at is not None and self.rerolled.lines[number].at == self.at:
                numbers = [k + 1 for k in index] or ([] if self.further is None else [self.further + 1])
                words = ("iteration", *["inner iteration"] * len(numbers))
                where = "".join(f", in {word} {number}" for word, number in zip(words, numbers))
                return f"  # <-- here{where}"
        return ""

    def _fresh(self, word: str) -> str:
        numbered = next(w for w in chain([word], (f"{word}_{k}" for k in count(2))) if w not in self.taken)
        self.taken.add(numbered)
        return numbered


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"    {line}" for line in lines)
