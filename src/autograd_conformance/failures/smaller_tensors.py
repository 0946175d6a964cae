"""Makes the largest tensors of a failing program smaller, since a reader cannot see the fault in dozens of numbers.

Some programs apply an op to many numbers at once, of which one may show the fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from autograd_conformance.ops.rows.shapes import size
from autograd_conformance.programs.language import Backward, Grad, Instruction, Leaf, Literal, Program, Shape
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.rules.violations.observed import DiffersFromRun
from autograd_conformance.rules.violations.violation import Violation

MANY = 7
"""Number of elements above which a tensor is made smaller; those of drawn programs have fewer."""

Part = tuple[slice, ...]
"""A part of a tensor: a slice for each dimension."""


def with_smaller_tensors(program: Program, violation: Violation) -> Iterator[Program]:
    """Yields the program with parts of its largest tensors, if they have more than `MANY` elements: the element with
    the largest error, then each half of each dimension. Operands and cotangents of the same shape keep one shape.
    """
    given = [value.shape for step in program for value in _tensors(step)]
    shape = max(given, key=size, default=())
    if size(shape) > MANY:
        for part in _parts(shape, violation):
            steps = tuple(_cut(step, shape, part) for step in program)
            yield replace(program, instructions=steps)


def _tensors(step: Instruction) -> list[Literal]:
    match step:
        case Leaf(value):
            return [value]
        case Backward() | Grad():
            return [given for given in step.cotangents if given is not None]
        case _:
            return []


def _parts(shape: Shape, violation: Violation) -> Iterator[Part]:
    worst = _worst(violation, shape)
    if worst is not None and len(worst) == len(shape) and all(at < length for at, length in zip(worst, shape)):
        yield tuple(slice(at, at + 1) for at in worst)
    for axis, length in enumerate(shape):
        middle = (length + 1) // 2
        for half in (slice(0, middle), slice(middle, length)) if length > 1 else ():
            yield tuple(half if k == axis else slice(None) for k in range(len(shape)))


def _worst(violation: Violation, shape: Shape) -> tuple[int, ...] | None:
    """Returns the place of the element that differs from another run, in a tensor of this shape, or of the element
    whose error is the largest in units of its bound; None if no elements were compared.
    """
    if isinstance(violation.observed, DiffersFromRun):
        at = violation.observed.place
        return tuple(map(int, np.unravel_index(at, shape))) if at < size(shape) else None
    got, want, bound = violation.got, violation.want, violation.bound
    if got is None or want is None or not got.size or got.shape != want.shape:
        return None
    with np.errstate(all="ignore"):
        errors = np.abs(got - want) / (1.0 if bound is None else bound)
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    worst = np.argmax(np.where(same, 0.0, np.where(np.isnan(errors), np.inf, errors)))
    return tuple(map(int, np.unravel_index(worst, got.shape)))


def _cut(step: Instruction, shape: Shape, part: Part) -> Instruction:
    """Returns an instruction with only a part of each of its tensors of this shape."""
    match step:
        case Leaf(value) if value.shape == shape:
            return replace(step, value=_part(value, part))
        case Backward() | Grad():
            given = step.cotangents
            cut = tuple(each if each is None or each.shape != shape else _part(each, part) for each in given)
            return replace(step, cotangents=cut)
        case _:
            return step


def _part(value: Literal, part: Part) -> Literal:
    places = np.arange(len(value.data)).reshape(value.shape)[part]
    return replace(value, data=tuple(value.data[at] for at in places.ravel()), shape=places.shape)
