"""Shape rules that many ops share: shapes of further operands, and dimensions that attributes may name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from autograd_conformance.ops.rows.row import LARGEST, POOL, Choices
from autograd_conformance.programs.language import Attr, Shape

Test = Callable[[Shape], bool]


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


FORMS: dict[str, Shape] = {
    "numbers": (),
    "vectors": (3,),
    "vectors of one element": (1,),
    "matrices": (2, 2),
    "tensors without elements": (0,),
}
"""Names for classes of shapes, each with an example of a shape: ``"vectors": (3,)``."""


def form(shape: Shape) -> str:
    """Returns the name of a shape's class, one of `FORMS`, such as ``vectors``; every shape with two or more dimensions
    and with elements is ``matrices``.
    """
    if 0 in shape:
        return "tensors without elements"
    if len(shape) < 2:
        return "numbers" if not shape else "vectors" if shape != (1,) else "vectors of one element"
    return "matrices"


def size(shape: Shape) -> int:
    """Returns the number of elements of a shape."""
    return prod(shape)


def small(shape: Shape) -> bool:
    """Whether a value of this shape is small enough for a drawn program: at most `LARGEST` elements in at most 5
    dimensions.
    """
    return size(shape) <= LARGEST and len(shape) <= 5


def broadcasting(first: Shape) -> Sequence[tuple[Shape, ...]]:
    """Returns the shapes that one further operand may have to broadcast with the first; the first one's shape comes
    first.
    """
    fitting = [s for s in POOL if s != first and (c := broadcast(first, s)) is not None and small(c)]
    return [(first,), *((s,) for s in fitting)]


def broadcasting_two(first: Shape) -> Sequence[tuple[Shape, ...]]:
    """Returns at most eight pairs of shapes for two further operands that broadcast to the first one's shape; at least
    one of the two has that shape itself.
    """
    narrower = [s for s in POOL if s != first and broadcast(first, s) == first]
    return [(first, first), *((s, first) for s in narrower), *((first, s) for s in narrower)][:8]


def same(first: Shape) -> Sequence[tuple[Shape, ...]]:
    """Returns the shapes of one further operand that must have the first one's shape: that shape alone."""
    return [(first,)]


def same_two(first: Shape) -> Sequence[tuple[Shape, ...]]:
    """Returns the shapes of two further operands that must have the first one's shape: that shape twice."""
    return [(first, first)]


def dims(shape: Shape, *more: Shape, low: int = 0) -> Choices:
    """Returns choices of the attribute ``dim``: every dimension of at least `low` elements by number, and the last also
    as -1.
    """
    named: list[dict[str, int]] = [{"dim": d} for d, n in enumerate(shape) if n >= low]
    return [*named, *([{"dim": -1}] if shape and shape[-1] >= low else [])]


def lines(shape: Shape, low: int = 1) -> Choices:
    """Returns choices of ``dim`` and ``keepdim`` for an op over one dimension, which has at least `low` elements."""
    named = [d["dim"] for d in dims(shape, low=low)]
    return [{"dim": d, "keepdim": False} for d in named] + [{"dim": d, "keepdim": True} for d in named[-1:]]


def reduced(shape: Shape) -> Choices:
    """Returns choices of ``dim`` (a tuple of all or a few dimensions) and ``keepdim`` for a reduction. Dimensions are
    numbered from the first or from the last.
    """
    everything = tuple(range(len(shape)))
    named: list[Attr] = [(d,) for d in everything] if len(shape) > 1 else []
    if len(shape) > 2:
        named += [(0, len(shape) - 1), (-2, -1)]
    kept: list[Attr] = [everything, *([(-1,)] if shape else [])]
    return [{"dim": d, "keepdim": False} for d in [everything, *named]] + [{"dim": d, "keepdim": True} for d in kept]


def count(shape: Shape, dim: tuple[int, ...]) -> int:
    """Number of elements that a reduction over `dim` combines."""
    return prod(shape[d] for d in dim)


def offer(**values: Sequence[Attr]) -> Callable[..., Choices]:
    """Returns a function that offers the same combinations of attributes for every shape: first the first values of all
    attributes, which are the simplest, then combinations in which one attribute has another value.
    """
    first = {name: options[0] for name, options in values.items()}
    varied = [{**first, name: other} for name, options in values.items() for other in options[1:]]
    return lambda *shapes: [first, *varied]


def shaped(accepts: Test, *more: Shape) -> dict[str, Any]:
    """Returns the fields `accepts` and `fresh` of an op's row; `fresh` has the accepted shapes of `POOL`, and then
    those of `more`.
    """
    return {"accepts": accepts, "fresh": tuple(s for s in (*POOL, *more) if accepts(s))}


def every(*tests: Test) -> Test:
    """Returns a test that a shape passes all the given tests."""
    return lambda shape: all(test(shape) for test in tests)


def ranked(low: int, high: int = 9) -> Test:
    """Returns a test that a shape's rank is between `low` and `high`, inclusive."""
    return lambda shape: low <= len(shape) <= high


def growing(factor: int) -> Test:
    """Returns a test that `factor` times as many elements as a shape has are at most `LARGEST`."""
    return lambda shape: size(shape) * factor <= LARGEST


def having(low: int, high: int = LARGEST) -> Test:
    """Returns a test that some dimension of a shape has `low` to `high` elements."""
    return lambda shape: any(low <= n <= high for n in shape)


def nonempty(shape: Shape) -> bool:
    """Whether a shape has elements."""
    return 0 not in shape


def square(shape: Shape) -> bool:
    """Whether a shape is a square matrix of one to three rows, or a batch of such matrices."""
    return len(shape) >= 2 and shape[-1] == shape[-2] <= 3 and nonempty(shape)
