"""Shape rules that many ops share: what a second operand may look like, which dimensions may be named."""

from __future__ import annotations

from collections.abc import Sequence

from rules.language import Attr, Shape
from rules.ops.op import LARGEST, POOL, Choices


def broadcast(a: Shape, b: Shape) -> Shape | None:
    """The common shape of two operands, or None where they do not broadcast."""
    rank = max(len(a), len(b))
    padded = zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True)
    out = []
    for m, n in padded:
        if m != n and 1 not in (m, n):
            return None
        out.append(n if m == 1 else m)
    return tuple(out)


def size(shape: Shape) -> int:
    """The number of elements."""
    n = 1
    for d in shape:
        n *= d
    return n


def broadcasting(first: Shape) -> Sequence[tuple[Shape, ...]]:
    """Shapes of one further operand that broadcasts with the first; the same shape comes first."""
    fitting = [s for s in POOL if s != first and (c := broadcast(first, s)) is not None and size(c) <= LARGEST]
    return [(first,), *((s,) for s in fitting)]


def same(first: Shape) -> Sequence[tuple[Shape, ...]]:
    """One further operand of the first one's shape."""
    return [(first,)]


def dims(shape: Shape) -> Choices:
    """Every dimension by its number, and the last by -1: ``dim``."""
    return [{"dim": d} for d in [*range(len(shape)), *([-1] if shape else [])]]


def reduced(shape: Shape) -> Choices:
    """The dimensions of a reduction: ``dim`` (None for all, or a tuple) and ``keepdim``."""
    named: list[Attr] = [(d,) for d in range(len(shape))]
    if len(shape) >= 2:
        named += [(0, len(shape) - 1), (-1,)]
    return [{"dim": tuple(range(len(shape))), "keepdim": False}] + [
        {"dim": d, "keepdim": keep} for d in named for keep in (False, True)
    ]


def ranked(low: int, high: int = 9):
    """A test for shapes whose rank lies between `low` and `high`."""
    return lambda shape: low <= len(shape) <= high


def nonempty(shape: Shape) -> bool:
    """Whether a shape has elements."""
    return 0 not in shape
