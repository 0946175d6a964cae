"""Descriptive names for the values of a program with loops.

At first, every value has a separate name. Then values are merged if that reads better: a carried value and its next
value are both `h`, a detached `h` is also `h`, and the lines of an incomplete iteration use the names of the loop.
`interpret` executes the program with each such change, which is kept only if every line still reads the same values.
"""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from autograd_conformance.ops.tables.activations import ACTIVATIONS
from autograd_conformance.ops.tables.losses import LOSSES
from autograd_conformance.printing.loop_nodes import (
    Begin,
    Collect,
    Copy,
    Element,
    FurtherIteration,
    Line,
    Loop,
    Misread,
    ModuleObject,
    Node,
    Rerolled,
    Stop,
    Value,
    all_nodes,
    interpret,
    reads,
)
from autograd_conformance.programs.language import (
    Apply,
    Backward,
    Detach,
    Grad,
    Hook,
    Leaf,
    Optimizer,
    ReadGrad,
)

RESERVED = frozenset(
    {*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "torch", "F", "p", "leaf", "iteration", "parts"}
)
"""Names that no value may have, because Python or the printed code uses them: ``for``, ``sum``, ``torch``,
``iteration``.
"""

VARIABLE_NAMES = {
    "multiply": "product",
    "matmul": "product",
    "subtract": "difference",
    "divide": "quotient",
    "add": "total",
    "sum": "total",
    "multiply_scalar": "scaled",
    "clone": "copy",
    "stack": "stacked",
    "stack_three": "stacked",
    "concat": "joined",
    "concat_three": "joined",
    "linear": "y",
    "linear_bias": "y",
    "softmax": "probabilities",
} | dict.fromkeys((*ACTIVATIONS, "tanh", "sigmoid"), "hidden")
"""The usual names of results of ops, where the op's own name is not usual: a result of `matmul` is named
``product``.
"""

NO_LOSSES = ("softmax", "log_softmax", "softmin", "cosine_similarity", "dist")


def names(rerolled: Rerolled, modules: Sequence[ModuleObject] = ()) -> dict[Value | ModuleObject, str] | None:
    """Chooses a name for every value, list and module of a program with loops; returns None if, even with a separate
    name for every value, some line would read a wrong value.

    A module's parameters are named as its attributes.
    """
    naming = _Naming(rerolled, modules)
    if not naming.is_consistent():
        return None
    naming.join()
    return naming.final()


@dataclass(slots=True)
class _Naming:
    """Divides the values of a program with loops into classes; the values of a class get one name."""

    rerolled: Rerolled
    modules: Sequence[ModuleObject]
    of: dict[Value, Value] = field(init=False)
    """For each value, the first value of its class."""
    maker: dict[Value, Line] = field(init=False)
    """The line that makes each value."""
    place: dict[Value, tuple[int, ...]] = field(init=False)
    """The loops in which each value is made, each as its position in the body around it."""
    readers: dict[Value, list[tuple[Line, int]]] = field(init=False)
    """The lines that read each value, with the position of the operand."""
    carriers: dict[Value, Value] = field(init=False)
    """The value of each carried variable at the end of an iteration."""
    entries: dict[Value, Value] = field(init=False)
    """The value of each carried variable before the loop."""
    lists: dict[Value, Value] = field(init=False)
    """The value that each list collects."""

    def __post_init__(self) -> None:
        self.maker, self.readers, self.carriers, self.entries, self.lists, self.place = {}, {}, {}, {}, {}, {}
        self._note(self.rerolled.nodes, ())
        self.of = {ref: ref for ref in (*self.maker, *self.carriers, *self.lists)}

    def _note(self, nodes: Sequence[Node], place: tuple[int, ...]) -> None:
        """Record the lines that make and read each value, and the loops in which it is made."""
        for number, node in enumerate(nodes):
            match node:
                case Line():
                    self.maker.update(dict.fromkeys(node.made, node))
                    self.place.update(dict.fromkeys(node.made, place))
                    for k, ref in enumerate(node.reads):
                        self.readers.setdefault(ref, []).append((node, k))
                case Copy(to, source):
                    self.entries.setdefault(to, source)  # the first copy is before the loop
                    self.carriers[to] = source  # the last one is at its end
                case Collect(into, value):
                    self.lists[into] = value
                case Loop(body):
                    self._note(body, (*place, number))
                case Begin() | Stop() | FurtherIteration():
                    pass
                case _:
                    assert_never(node)

    def is_consistent(self) -> bool:
        """Whether every line reads the same values as in the program without loops, if the values that are merged now
        share a name.
        """
        try:
            interpret(self.rerolled, self.of)
        except Misread:
            return False
        return True

    def _merge(self, one: Value, other: Value) -> None:
        """Give two values one name, if the program stays consistent."""
        one, other = self.of[one], self.of[other]
        if one != other:
            before = dict(self.of)
            self.of = {ref: one if first == other else first for ref, first in before.items()}
            if not self.is_consistent():
                self.of = before

    def join(self) -> None:
        """Merge values to which a person would give one name."""
        copies = [node for node in all_nodes(self.rerolled.nodes) if isinstance(node, Copy)]
        carried = {node.source for node in copies if self.carriers[node.to] == node.source}
        detached = [ref for ref, line in self.maker.items() if isinstance(line.step, Detach)]
        for ref in detached:
            source = self.maker[ref].reads[0]
            if source in self.carriers or (ref in carried and source in self.place):
                self._merge(ref, source)
        copies.sort(key=lambda node: self.carriers[node.to] != node.source)  # next values before initial values
        for node in copies:
            if node.source in self.of and not self._trained(node.source):
                self._merge(node.source, node.to)
        for one, other in self.rerolled.alike:
            if one in self.of and other in self.of:  # and not inside a loop made later
                self._merge(other, one)
        self._share()

    def _share(self) -> None:
        """Merge values with the same word in two loops of which neither contains the other, or in a
        loop and after it.
        """
        first: dict[str, list[Value]] = {}
        owned = self._owned()
        for ref in (ref for ref in self.place if ref not in owned):
            word = self.word(self.of[ref])
            place = self.place[ref]
            for other in first.setdefault(word, []):
                theirs = self.place[other]
                shorter = min(len(place), len(theirs))
                if theirs and (not place or place[:shorter] != theirs[:shorter]):
                    self._merge(other, ref)
            first[word].append(ref)

    def final(self) -> dict[Value | ModuleObject, str]:
        """Returns the final name of every value and module: the word for its class, with a number if several classes
        have the same word (``loss_2``).
        """
        own = {self.of[ref] for ref in self._owned()}
        classes = (first for first in dict.fromkeys(self.of.values()) if first not in self.lists)
        words: dict[Value | ModuleObject, str] = {first: self.word(first) for first in classes if first not in own}
        words |= {module: module.op.removeprefix("nn_") for module in self.modules}
        count: dict[str, int] = {}
        for word in words.values():
            count[word] = count.get(word, 0) + 1
        taken = {word for word in count if count[word] == 1}
        given: dict[Value | ModuleObject, str] = {}
        for first, word in words.items():
            given[first] = word if count[word] == 1 else _fresh(word, taken)
            taken.add(given[first])
        for module in self.modules:
            given |= {self.of[ref]: f"{given[module]}.{name}" for ref, name in module.parameters}
        for into, value in self.lists.items():
            plural = given[self.of[value]] + "s" if value in self.of and self.of[value] not in own else "values"
            given[into] = plural if plural not in taken | RESERVED else _fresh(plural, taken)
            taken.add(given[into])
        found: dict[Value | ModuleObject, str] = {ref: given[first] for ref, first in self.of.items()}
        found |= {module: given[module] for module in self.modules}
        read = (ref for node in all_nodes(self.rerolled.nodes) for ref in reads(node))
        return found | {ref: f"{found[ref.of]}[{ref.index}]" for ref in read if isinstance(ref, Element)}

    def _owned(self) -> set[Value]:
        return {ref for module in self.modules for ref, _ in module.parameters}

    # -- words

    def word(self, first: Value) -> str:
        """Returns the word that describes a class of values, such as ``loss``, ``weight``, ``h`` or ``total``."""
        members = [ref for ref in self.of if self.of[ref] == first]
        made = [ref for ref in members if ref in self.maker]
        if not made:  # a carried value that cannot share the name of its next value
            source = self.carriers.get(first)
            known = source in self.maker
            return f"previous_{self._own(source)}" if known and source is not None else "previous"
        words = [self._own(ref) for ref in made]
        if "loss" in words:
            return "loss"
        if any(ref in self.carriers for ref in members):
            entries = [self._origin(self.entries[ref]) for ref in members if ref in self.entries]
            trained = [ref for ref in entries if self._trained(ref)]
            if trained:
                return f"fast_{self._own(trained[0])}"
            total = all(self._totals(ref) for ref in made if isinstance(self.maker[ref].step, Apply))
            applied = any(isinstance(self.maker[ref].step, Apply) for ref in made)
            if not applied and words[0] != "data":
                return words[0]
            return "total" if applied and total else "c" if any(map(self._cell, made)) else "h"
        return words[0]

    def _origin(self, ref: Value) -> Value:
        """Returns the value that a clone copies, or, if the value is no clone, the value itself."""
        line = self.maker.get(ref)
        copied = line is not None and isinstance(line.step, Apply) and line.step.op == "clone"
        return line.reads[0] if line is not None and copied else ref

    def _trained(self, ref: Value) -> bool:
        line = self.maker.get(ref)
        return line is not None and isinstance(line.step, Leaf) and line.step.requires_grad

    def _totals(self, ref: Value) -> bool:
        step, reads = self.maker[ref].step, self.maker[ref].reads
        return isinstance(step, Apply) and step.op == "add" and any(self.of.get(r) == self.of[ref] for r in reads)

    def _cell(self, ref: Value) -> bool:
        """Whether a value is the second state of a recurrent module, its memory cell."""
        line = self.maker[ref]
        return isinstance(line.step, Apply) and line.step.op == "nn_lstm" and line.made[2:] == (ref,)

    def _own(self, ref: Value) -> str:
        line = self.maker[ref]
        read = list(self._readings(ref))
        if any(isinstance(step, Backward) or (isinstance(step, Grad) and k == 0) for step, k in read):
            return "loss"
        match line.step:
            case Leaf(value, True):
                return self._parameter(ref, len(value.shape))
            case Leaf():
                if any(_target(step, k) for step, k in read):
                    return "target"
                return "x" if any(isinstance(step, Apply) for step, _ in read) else "data"
            case Optimizer():
                return "optimizer"
            case Hook():
                return "handle"
            case ReadGrad() | Grad():
                return "grad"
            case Detach():
                return "detached"
            case Apply(op):
                first_of_loss = any(isinstance(step, Apply) and _loss(step) and k == 0 for step, k in read)
                if first_of_loss or op.startswith("nn_"):
                    return "out"
                word = VARIABLE_NAMES.get(op, op)
                return word if word.isidentifier() and word not in RESERVED else "y"
            case _:
                return "value"

    def _readings(self, ref: Value) -> Iterator[tuple[object, int]]:
        return ((line.step, k) for line, k in self.readers.get(ref, ()))

    def _parameter(self, ref: Value, rank: int) -> str:
        trained = {r for line in self.maker.values() if isinstance(line.step, Optimizer) for r in line.reads}
        if self.place[ref] and ref not in trained:
            return "x"
        if any(isinstance(step, Apply) and step.op.endswith("bias") and k == 2 for step, k in self._readings(ref)):
            return "bias"
        return "weight" if rank >= 2 else "w"


def _loss(step: Apply) -> bool:
    return step.op in LOSSES and step.op not in NO_LOSSES


def _target(step: object, k: int) -> bool:
    return isinstance(step, Apply) and _loss(step) and k == 1


def _fresh(word: str, taken: set[str]) -> str:
    """Appends the first unused number to a word: ``loss_1``, ``x1``."""
    join = "" if len(word) == 1 else "_"
    number = 1
    while f"{word}{join}{number}" in taken | RESERVED:
        number += 1
    return f"{word}{join}{number}"
