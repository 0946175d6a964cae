"""Repetitions in a sequence of lines, found without knowledge of the original loops.

Consecutive blocks of lines repeat if they are equal except for the data of their leaves and for the values that they
use. A block may read values made before the loop, in the same block, or in the previous block; the last of these
are carried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from autograd_conformance.printing.loop_nodes import Line, Node, Value, reads
from autograd_conformance.programs.language import INSTRUCTIONS, Delete, Leaf, Ref
from autograd_conformance.programs.operands import with_operands


@dataclass(frozen=True, slots=True)
class Repetition:
    """Blocks of lines of a straight-line program that repeat and can become a loop."""

    start: int
    """The position of the first block's first line."""
    period: int
    """Number of lines of a block."""
    count: int
    """Number of complete blocks; 1 if the program ends within the second block."""
    rest: int
    """Number of lines of an incomplete block after the complete blocks, at the end of the program; 0 if there
    is none.
    """
    carried: Mapping[Value, Value]
    """For each value of the first block that the second block reads, the value from before the loop that the first
    block reads instead.
    """
    previous: Mapping[tuple[int, int], Value]
    """For each operand that is a value of the previous block, at (line of the block, position of the operand): that
    value, as the first block makes it.
    """
    saved: int
    """Number of lines by which a loop makes the printed program shorter."""


LEAST = 2
"""Minimum number of lines by which a loop has to make the printed program shorter."""


def repetition(nodes: Sequence[Node], outermost: bool) -> Repetition | None:
    """Finds the repetition whose loop saves the most lines; among equals, the one with the shortest body, then the
    first one. Returns None if no loop saves enough lines.
    """
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
    """Returns a key that is equal for lines that differ only in their operands and in the data of leaves."""
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
    """Lines from `start` on that may repeat every `period` lines, and the values, found so far, that a loop would have
    to carry.
    """

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
        """Returns the repetition formed by the first block and those of the next `length` lines that read corresponding
        values; None if it cannot become a loop.
        """
        nodes, start, period = self.nodes, self.start, self.period
        matched = next((n for n in range(length) if not self._match_line(n)), length)
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
        """Returns the value of the first block that corresponds to a value of another block."""
        at = self.where[ref]
        return self._line(self.start + (at - self.start) % self.period).made[self._line(at).made.index(ref)]

    def _collected(self, count: int) -> int | None:
        """Number of values that have to be collected for later lines; None if a later line deletes one of them."""
        last, end = self.start + self.period * (count - 1), self.start + self.period * count
        collected: set[Value] = set()
        for node in self.nodes[end:]:
            found = {self._own(ref) for ref in reads(node) if self.start <= self.where.get(ref, -1) < last}
            if found and isinstance(node, Line) and isinstance(node.step, Delete):
                return None
            collected |= found
        return len(collected)

    def _match_line(self, matched: int) -> bool:
        """Match the line `matched` lines after the first block with the corresponding line of the first block, and
        record the values that a loop has to carry; returns whether it repeats that line.
        """
        block, offset = matched // self.period + 1, matched % self.period
        line, first = self._line(self.start + self.period + matched), self._line(self.start + offset)
        return all(
            self._match_operand(block, (offset, k), ref, its)
            for k, (ref, its) in enumerate(zip(line.reads, first.reads, strict=True))
        )

    def _match_operand(self, block: int, place: tuple[int, int], ref: Value, its: Value) -> bool:
        """Match the operand `ref` of a block with the operand `its` of the first block, and record a carried value;
        returns whether they match.
        """
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
