"""Shared operands: fixed programs in which other ops use an op's operands before the op and after it.

A call adds up the gradients of all uses. In these programs the op's gradient is the first contribution to none of its
operands, and the last to none. Frameworks differ in what they add: arrays or scalars, into a buffer or a new one.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import islice

from autograd_conformance.checking.audit.programs import DRAWS, called, sampling
from autograd_conformance.ops.rows.row import choices_of, rest_of, takes
from autograd_conformance.programs.language import Program, Shape
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.situations.base import joined_roots


def programs(op: str, dtype: str) -> Iterator[Program]:
    """Yields a program for operands of which the first is a number, where the op takes one, and one for operands of
    which the first has dimensions.
    """
    for shapes in _operands(op):
        drawn = (_program(op, shapes, zlib.crc32(f"{op} shared {shapes} {k}".encode()), dtype) for k in range(DRAWS))
        yield from islice(filter(None, drawn), 1)


def _program(op: str, shapes: tuple[Shape, ...], seed: int, dtype: str) -> Program | None:
    sampler = sampling(seed, dtype)
    row = sampler.alphabet.row(op)
    operands = tuple(sampler.operands.fresh(shape, row.domain(k)) for k, shape in enumerate(shapes))
    before = [sampler.ops.nonlinear(each) for each in operands]
    made = sampler.ops.checked(row, operands, next(iter(choices_of(row, shapes)), ()))
    after = [sampler.ops.nonlinear(each) for each in operands]
    roots = [each for each in (*before, *made, *after) if sampler.requires(each)]
    return called(sampler, joined_roots(sampler, roots), op) if roots else None


def _operands(op: str) -> Iterator[tuple[Shape, ...]]:
    """Yields the shapes of an op's operands: those that begin with a number, and the first with elements and dimensions
    that the framework admits.
    """
    current = alphabet.current()
    row = current.row(op)
    for is_number in (True, False):
        firsts = (shape for shape in ((), *row.fresh) if (shape == ()) is is_number and takes(row, shape))
        fitting = ((first, *rest) for first in firsts for rest in rest_of(row, first))
        admitted = (s for s in fitting if all(0 not in shape and current.admits(shape) for shape in s))
        yield from islice(admitted, 1)
