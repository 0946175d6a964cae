"""What repeats in a sequence of lines, found without a hint.

Consecutive blocks of lines repeat if they are equal but for the data of their leaves and for the values that they
name. A block may read what was made before the loop, what it made itself, and what the block before it made: that is
carried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from autograd_conformance.printing.loop_nodes import Line, Node, placed, reads
from autograd_conformance.programs.language import Delete, Leaf, Ref


@dataclass(frozen=True, slots=True)
class Repeated:
    """The loop from `start` on: `count` blocks of `period` lines, and `rest` lines of one more.

    `carried` maps a value of the first block to the one that the first block reads in its place, and `previous` says
    which reads of the body are of that kind, as (line, number of the operand).
    """

    start: int
    period: int
    count: int
    rest: int
    carried: Mapping[Ref, Ref]
    previous: Mapping[tuple[int, int], Ref]
    saved: int


LEAST = 2
"""The fewest lines that a loop has to save."""


def repeated(nodes: Sequence[Node], outermost: bool) -> Repeated | None:
    """The repetition that saves the most lines; of equals the one with the shortest body, then the first."""
    best: Repeated | None = None
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
                found = _checked(nodes, where, start, period, length, outermost)
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
    elif node.owned:
        return f"optimizer: {type(step).__name__} {getattr(step, 'set_to_none', None)} {node.modes}"
    return f"{placed(step, [Ref(k) for k in range(len(node.reads))])!r} {node.modes}"


def _checked(
    nodes: Sequence[Node], where: Mapping[Ref, int], start: int, period: int, length: int, outermost: bool
) -> Repeated | None:
    """How many of the lines behind the first block really repeat it, judged by what they read."""
    carried: dict[Ref, Ref] = {}
    previous: dict[tuple[int, int], Ref] = {}
    matched = 0
    for matched in range(length + 1):
        if matched == length or not _repeats(nodes, where, start, period, matched, carried, previous):
            break
    count, rest = matched // period + 1, matched % period
    ends = start + period + matched == len(nodes)
    if count == 1 and not (outermost and ends and 2 * rest >= period):
        return None
    weigh = nodes[start : start + period] if count > 1 else nodes[start : start + rest]
    weight = sum(not isinstance(node, Line) or not isinstance(node.step, Leaf) for node in weigh)
    saved = (count - 1) * weight - 1 if count > 1 else weight - 2
    if count > 1:
        collected = _collected(nodes, start, period, count)
        if collected is None:
            return None
        saved -= 2 * collected
    previous = {(line, k): ref for (line, k), ref in previous.items() if line < matched}
    handed = {kind: carried[kind] for kind in carried if kind in previous.values()}
    return Repeated(start, period, count, rest if ends else 0, handed, previous, saved)


def _collected(nodes: Sequence[Node], start: int, period: int, count: int) -> int | None:
    """How many values have to be collected for what comes later; None where one of them is let go of there."""
    last, end = start + period * (count - 1), start + period * count
    made = {
        ref: (at - start) % period
        for at, node in enumerate(nodes[start:last], start)
        if isinstance(node, Line)
        for ref in node.made
    }
    slots = set()
    for node in nodes[end:]:
        found = {(made[ref], ref.output) for ref in reads(node) if ref in made}
        if found and isinstance(node, Line) and isinstance(node.step, Delete):
            return None
        slots |= found
    return len(slots)


def _repeats(
    nodes: Sequence[Node],
    where: Mapping[Ref, int],
    start: int,
    period: int,
    matched: int,
    carried: dict[Ref, Ref],
    previous: dict[tuple[int, int], Ref],
) -> bool:
    """Whether one more line repeats its counterpart in the first block; what it carries is noted."""
    turn, offset = divmod(matched, period)
    turn += 1
    line, first = nodes[start + period + matched], nodes[start + offset]
    assert isinstance(line, Line)
    assert isinstance(first, Line)
    begins = start + turn * period
    for k, (ref, its) in enumerate(zip(line.reads, first.reads, strict=True)):
        at = where.get(ref, -1)
        back = (at - start) // period if at >= start else -1
        if back < 0:
            kind = None
            fits = ref == its
        else:
            model = nodes[start + (at - start) % period]
            assert isinstance(model, Line)
            source = nodes[at]
            assert isinstance(source, Line)
            kind = model.made[source.made.index(ref)]
            fits = at >= begins and its == kind
            if back == turn - 1:
                fits = where.get(its, -1) < start and carried.setdefault(kind, its) == its
                if turn == 1 and fits:
                    previous[offset, k] = kind
        if not fits or (turn > 1 and ((offset, k) in previous) != (kind is not None and back == turn - 1)):
            return False
        if turn > 1 and (offset, k) in previous and previous[offset, k] != kind:
            return False
    return True
