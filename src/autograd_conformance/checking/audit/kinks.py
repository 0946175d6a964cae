"""Programs of one op at its kinks and ties: operands of numbers at which it has no derivative, or of equal numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain, islice

from autograd_conformance.checking.audit import elements
from autograd_conformance.checking.audit.programs import forms
from autograd_conformance.checking.audit.tails import last_call
from autograd_conformance.ops.rows.row import Op, choices_of, rest_of
from autograd_conformance.ops.rows.shapes import size
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.language import Apply, Attrs, Leaf, Program, Ref, Shape
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.domains import is_smooth
from autograd_conformance.rules.judge.checks.kinks import keeps_convention
from autograd_conformance.strategies.building.alphabet import Alphabet
from autograd_conformance.strategies.building.tensors import repeated

NUMBERS = (0.0, 1.0, -1.0)
"""The numbers of the operands, besides an op's kinks and the numbers among its attributes."""

SHAPE = (8,)
"""The shape of an elementwise op's operands."""

FORMS = 2
"""Largest number of choices of attributes of an elementwise op, or of shapes and attributes of another op."""


@lru_cache(maxsize=1)
def functions() -> tuple[str, ...]:
    """Returns the ops whose results and gradients at kinks and ties are compared between runs."""
    return tuple(op for op, row in OPS.items() if keeps_convention(op) and not row.multi and _has_kinks(row))


def programs(op: str, dtypes: Sequence[str], alphabet: Alphabet) -> Iterator[Program]:
    """Yields programs of an op, each with a backward call, for each dtype and each number, of which all elements of all
    operands are.
    """
    for dtype in dtypes:
        if op in elements.functions():
            yield from _elementwise(alphabet.row(op), dtype, alphabet) if alphabet.admits(SHAPE) else ()
        else:
            drawn = list(islice(forms(op, dtype), FORMS))
            yield from (_filled(program, number) for number in NUMBERS[:2] for program in drawn)


def _has_kinks(row: Op) -> bool:
    """Whether an op is not smooth where all elements of its operands are one of the numbers."""
    first = next(shape for shape in row.fresh if size(shape) > 0)
    shapes = (first, *next(iter(rest_of(row, first)), ()))
    return any(not _is_smooth(row, shapes, number) for number in _numbers(row, ()))


def _is_smooth(row: Op, shapes: Sequence[Shape], number: float) -> bool:
    operands = {Ref(at): np.full(shape, number) for at, shape in enumerate(shapes)}
    return is_smooth(Apply(row.name, tuple(operands)), operands)


def _numbers(row: Op, attrs: Attrs) -> tuple[float, ...]:
    """Returns the numbers of an op's operands: kinks come first."""
    bounds = [value for _, value in attrs if isinstance(value, float)]
    return tuple(dict.fromkeys((*chain.from_iterable(each.kinks for each in row.domains), *bounds, *NUMBERS)))


def _elementwise(row: Op, dtype: str, alphabet: Alphabet) -> Iterator[Program]:
    shapes = (SHAPE, *next(iter(rest_of(row, SHAPE)), ()))
    operands = tuple(Ref(at) for at in range(len(shapes)))
    last = last_call(Ref(len(shapes)), operands, repeated((1.0, 2.0, 3.0), SHAPE, dtype), alphabet)
    for attrs in choices_of(row, shapes)[:FORMS]:
        for number in _numbers(row, attrs):
            leaves = [Leaf(repeated((number,), shape, dtype)) for shape in shapes]
            yield Program((*leaves, Apply(row.name, operands, attrs), last))


def _filled(program: Program, number: float) -> Program:
    """Returns a program in which each element of each leaf is one number."""
    steps = [
        replace(step, value=repeated((number,), step.value.shape, step.value.dtype)) if isinstance(step, Leaf) else step
        for step in program
    ]
    return replace(program, instructions=tuple(steps))
