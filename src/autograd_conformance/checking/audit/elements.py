"""Programs of elementwise ops on tensors whose elements are all one number: NaN, infinite, far out, or at a kink.

The tensors are longer than a kernel's groups of elements, so that the last elements are computed alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

from autograd_conformance.checking.audit.tails import last_call
from autograd_conformance.ops.rows.row import choices_of, rest_of
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.dtypes import DTYPES
from autograd_conformance.programs.language import Apply, Attrs, Instruction, Leaf, Program, Ref
from autograd_conformance.rules.judge.checks.elements import ELEMENTWISE, is_elementwise
from autograd_conformance.strategies.building.alphabet import Alphabet
from autograd_conformance.strategies.building.tensors import repeated

SHAPE = (37,)
"""The shape of the operands: no multiple of a group of 2, 4, 8 or 16 elements."""

NUMBERS = (math.nan, math.inf, -math.inf, 0.0, 1.0, -1.0)
"""The elements of an op's only operand, besides the op's kinks and `FAR`."""

FAR = (1e4, -1e4, 1e10, -1e10)
"""Elements that are far from where a function changes most, in dtypes whose range has their cubes."""

AMONG_ONES = (math.nan, math.inf, 0.0)
"""The elements of one operand of an op with several operands; the elements of the others are 1."""


@lru_cache(maxsize=1)
def functions() -> tuple[str, ...]:
    """Returns the ops that compute each element from the operands' elements at its place."""
    return tuple(op for op, row in OPS.items() if row.family in ELEMENTWISE and _form(op) is not None)


def programs(op: str, dtypes: Sequence[str], alphabet: Alphabet) -> Iterator[Program]:
    """Yields programs of an elementwise op, each with a backward call, for each dtype and each number."""
    form = _form(op)
    if form is None or not alphabet.admits(SHAPE):
        return
    arity, attrs = form
    for dtype in dtypes:
        for numbers in _operands(op, arity, dtype):
            yield Program(tuple(_steps(op, numbers, attrs, dtype, alphabet)))


def _form(op: str) -> tuple[int, Attrs] | None:
    """Returns the number of operands and the attributes of an op for operands of `SHAPE`; None if there are none."""
    row = OPS[op]
    rests = [rest for rest in rest_of(row, SHAPE) if set(rest) <= {SHAPE}] if row.accepts(SHAPE) else []
    if not rests:
        return None
    attrs = choices_of(row, (SHAPE, *rests[0]))[0]
    return (1 + len(rests[0]), attrs) if is_elementwise(op, attrs) else None


def _operands(op: str, arity: int, dtype: str) -> Iterator[tuple[float, ...]]:
    if arity == 1:
        far = [number for number in FAR if abs(number) ** 3 < DTYPES[dtype].largest]
        yield from ((number,) for number in dict.fromkeys((*NUMBERS, *far, *OPS[op].domain(0).kinks)))
        return
    for number in AMONG_ONES:
        for place in range(arity):
            yield (*(1.0,) * place, number, *(1.0,) * (arity - 1 - place))
    yield (math.nan,) * arity


def _steps(op: str, numbers: tuple[float, ...], attrs: Attrs, dtype: str, alphabet: Alphabet) -> Iterator[Instruction]:
    operands = tuple(Ref(at) for at in range(len(numbers)))
    yield from (Leaf(repeated((number,), SHAPE, dtype)) for number in numbers)
    yield Apply(op, operands, attrs)
    yield last_call(Ref(len(numbers)), operands, repeated((1.0,), SHAPE, dtype), alphabet)
