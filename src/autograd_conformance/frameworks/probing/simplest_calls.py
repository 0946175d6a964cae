"""The simplest calls of each op, for code that needs one call of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import islice

from autograd_conformance.ops.modules import TABLE
from autograd_conformance.ops.modules.module import Module
from autograd_conformance.ops.rows.row import Op, choices_of, rest_of, takes
from autograd_conformance.ops.rows.shapes import size
from autograd_conformance.programs.language import Attrs, Shape

Call = tuple[tuple[Shape, ...], Attrs]
"""The shapes of the operands and the attributes of a call of an op."""


def simplest_calls(op: Op) -> Iterator[Call]:
    """Yields calls of an op, simplest first: the first shapes that it accepts, or a module's on one element."""
    if op.name in TABLE:
        yield from _module_calls(TABLE[op.name])
        return
    yield from islice(calls_by_dimensions(op).values(), 1)


def calls_by_dimensions(op: Op) -> dict[int, Call]:
    """Returns the simplest call of an op, which is no module, for each number of dimensions of its first operand."""
    found: dict[int, Call] = {}
    for first in op.fresh or ((2,),):
        if size(first) and len(first) not in found and takes(op, first):
            shapes = (first, *rest_of(op, first)[0])
            found[len(first)] = shapes, choices_of(op, shapes)[0]
    return found


def _module_calls(module: Module) -> Iterator[Call]:
    """Yields calls of a module on operands of one element, in three and four dimensions."""
    settings, one = dict(module.whole), defaultdict[str, int](lambda: 1)
    own = tuple(shape for _, shape in module.parameters(settings, one))
    for first in ((1, 1, 1), (1, 1, 1, 1)):
        yield (first, *(shape for _, shape in module.further(settings, one, first)), *own), module.whole
