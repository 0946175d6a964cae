"""What repeats in a sequence of lines, found without a hint.

Consecutive blocks of lines repeat if they are equal but for the data of their leaves and for the values that they
name. A block may read what was made before the loop, what it made itself, and what the block before it made: that is
carried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from autograd_conformance.printing.loop_nodes import Line, Node, Value, reads
from autograd_conformance.programs.language import INSTRUCTIONS, Delete, Leaf, Ref
from autograd_conformance.programs.operands import with_operands


@dataclass(frozen=True, slots=True)
class Repetition:
    """Blocks of lines that repeat."""

    start: int
    """Where the first block begins."""
    period: int
    """How many lines a block has."""
    count: int
    """How many blocks there are."""
    rest: int
    """How many lines of one more block follow."""
    carried: Mapping[Value, Value]
    """The values of the first block that the next one reads, each with the one that the first reads in its place."""
    previous: Mapping[tuple[int, int], Value]
    """The reads of such values, as (line of the block, number of the operand)."""
    saved: int
    """How many lines a loop saves."""


LEAST = 2
"""The fewest lines that a loop has to save."""


def repetition(nodes: Sequence[Node], outermost: bool) -> Repetition | None:
    """The repetition that saves the most lines; of equals the one with the shortest body, then the first."""
    best: Repetition | None = None
    marks = [mark(node, at) for at, node in enumerate(nodes)]
    where = {ref: at for at, node in enumerate(nodes) if isinstance(node, Line) for ref in node.made}
    for period in range(1, len(nodes)):
        run = 0
        runs = [0] * (len(nodes) - period)
        for at in reversed(range(len(runs))):
            run = run + 1 if marks[at] == marks[at + period] else 0
            runs[at] = run
        for start, length in enumerate(runs):
            if length > (best.saved if best else 0):
                found = _Blocks(nodes, where, start, period).repetition(length, outermost)
                if found and found.saved >= LEAST and (best is None or found.saved > best.saved):
                    best = found
    return best


def mark(node: Node, at: int) -> str:
    """Equal for lines that are equal but for what they read and for the data of leaves."""
    if not isinstance(node, Line):
        return f"not repeated: {at}"
    step = node.step
    if isinstance(step, Leaf):
        step = replace(step, value=replace(step.value, data=()))
    elif node.by_optimizer:
        return f"optimizer: {INSTRUCTIONS[type(step)].word} {getattr(step, 'set_to_none', None)} {node.modes}"
    return f"{with_operands(step, [Ref(k) for k in range(len(node.reads))])!r} {node.modes}"


@dataclass(slots=True)
class _Blocks:
    """Lines from `start` on that may repeat every `period` lines, with what was found of them so far."""

    nodes: Sequence[Node]
    where: Mapping[Value, int]
    """The line that makes each value."""
    start: int
    period: int
    carried: dict[Value, Value] = field(default_factory=dict)
    """As in `Repetition`."""
    previous: dict[tuple[int, int], Value] = field(default_factory=dict)
    """As in `Repetition`."""

    def repetition(self, length: int, outermost: bool) -> Repetition | None:
        """How many of the `length` lines behind the first block really repeat it, judged by what they read."""
        nodes, start, period = self.nodes, self.start, self.period
        matched = next((n for n in range(length) if not self._repeats(n)), length)
        count, rest = matched // period + 1, matched % period
        ends = start + period + matched == len(nodes)
        if count == 1 and not (outermost and ends and 2 * rest >= period):
            return None
        weigh = nodes[start : start + period] if count > 1 else nodes[start : start + rest]
        weight = sum(not isinstance(node, Line) or not isinstance(node.step, Leaf) for node in weigh)
        saved = (count - 1) * weight - 1 if count > 1 else weight - 2
        if count > 1:
            collected = self._collected(count)
            if collected is None:
                return None
            saved -= 2 * collected
        previous = {(line, k): ref for (line, k), ref in self.previous.items() if line < matched}
        carried = {own: first for own, first in self.carried.items() if own in previous.values()}
        return Repetition(start, period, count, rest if ends else 0, carried, previous, saved)

    def _line(self, at: int) -> Line:
        line = self.nodes[at]
        assert isinstance(line, Line)
        return line

    def _own(self, ref: Value) -> Value:
        """The value of the first block that a value of another one corresponds to."""
        at = self.where[ref]
        return self._line(self.start + (at - self.start) % self.period).made[self._line(at).made.index(ref)]

    def _collected(self, count: int) -> int | None:
        """How many values have to be collected for what comes later; None where one of them is let go of there."""
        last, end = self.start + self.period * (count - 1), self.start + self.period * count
        collected: set[Value] = set()
        for node in self.nodes[end:]:
            found = {self._own(ref) for ref in reads(node) if self.start <= self.where.get(ref, -1) < last}
            if found and isinstance(node, Line) and isinstance(node.step, Delete):
                return None
            collected |= found
        return len(collected)

    def _repeats(self, matched: int) -> bool:
        """Whether one more line repeats its counterpart in the first block; what it carries is noted."""
        block, offset = matched // self.period + 1, matched % self.period
        line, first = self._line(self.start + self.period + matched), self._line(self.start + offset)
        return all(
            self._reads_alike(block, (offset, k), ref, its)
            for k, (ref, its) in enumerate(zip(line.reads, first.reads, strict=True))
        )

    def _reads_alike(self, block: int, place: tuple[int, int], ref: Value, its: Value) -> bool:
        """Whether an operand `ref` of a block is what `its` is for the first one."""
        at = self.where.get(ref, -1)
        if at < self.start:
            return ref == its and place not in self.previous
        own, made_in = self._own(ref), (at - self.start) // self.period
        if made_in == block:
            return its == own and place not in self.previous
        if made_in != block - 1 or self.where.get(its, -1) >= self.start or self.carried.setdefault(own, its) != its:
            return False
        if block == 1:
            self.previous[place] = own
        return self.previous.get(place) == own
