"""Names the fault that an error or a wrong number shows, in the words of the suite, where a framework has many messages
for one fault. Both the message and the form of the operand have to show it, because the operand of a reduced program
may be small by accident.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import prod

from autograd_conformance.ops.forms import unbatched_rank
from autograd_conformance.programs.language import (
    Apply,
    Backward,
    Grad,
    InPlace,
    Instruction,
    Leaf,
    Program,
    Ref,
    Shape,
)
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reporting.records.failure import EMPTY, UNBATCHED, ErrorSize

NUMBER = "a number of Python in place of a tensor"
INDEX = "indices that are no integers"
REDUCED = "a reduced dimension that the derivative does not restore"
BROADCAST = "a gradient that is not summed over a broadcast dimension"
UNCHANGED = "a write that changes nothing"
SINGLE = "numbers in float64 as exact as in float32"

_EMPTY = re.compile(r"\bsize 0\b|\b0 elements|\bempty\b|\bzero-size", re.IGNORECASE)
"""Messages that say that something has no elements."""

_RANK = re.compile(
    r"\bexpected \d+, got \d+|\b\d ?-?D\b|\bdim(?:s|ension(?:s|al)?)?\b|\btuple index out of range|\baxis\b|\brank\b",
    re.IGNORECASE,
)
"""Messages that are about the number of dimensions."""

_NUMBER = re.compile(r"'(?:float|int|bool|complex)' object has no attribute ")

_ARGUMENTS = re.compile(r"incompatible function arguments|unsupported operand type")
"""Messages that say that a function does not take what it is given, in whatever words it is named."""

_INDEX = re.compile(
    r"^(?!(?:list|tuple) indices must).*(?:\bind(?:ex|ices)\b.*\binteger|\binteger.*\bind(?:ex|ices)\b)",
    re.IGNORECASE | re.DOTALL,
)
"""Messages about indices; not Python's, which are about a list or a tuple of the framework's own code."""

_SHAPE = re.compile(r"\bbroadcast|\bshapes?\b|\balign|\bsizes?\b|\bdim", re.IGNORECASE)
"""Messages that say that shapes do not fit."""

FEWER_ROUNDINGS = 2.0**29
"""A rounding in float64 is this much smaller than one in float32."""

SINGLE_DIGITS = (6.0, 9.0)
"""The least and the largest number of right digits of a float64 number that was computed in float32. A rounding in
float32 leaves 7.2 digits or more: two of a hundred leave more than 9.
"""


def error_meaning(program: Program, at: int, op: str | None, message: str) -> str | None:
    """Returns what an error on a legal call of an op means; None if the message and the operands do not show it."""
    if _NUMBER.search(message) or (_ARGUMENTS.search(message) and _is_with_number(program[at])):
        return NUMBER
    is_about_shape = isinstance(program[at], (Backward, Grad)) and _SHAPE.search(message) is not None
    if is_about_shape and _broadcasts(program):
        return BROADCAST
    if op is None:
        return None
    if _INDEX.search(message):
        return INDEX
    shapes = tuple(_shapes(program, at, op))
    if any(0 in shape for shape in shapes) and _EMPTY.search(message):
        return EMPTY
    rank = unbatched_rank(op)
    if rank is not None and shapes and len(shapes[0]) == rank and _RANK.search(message):
        return UNBATCHED
    if is_about_shape and _drops_dimension(program, op):
        return REDUCED
    return None


def _is_with_number(step: Instruction) -> bool:
    """Whether an instruction applies an op to a tensor and a number of Python."""
    return isinstance(step, (Apply, InPlace)) and "scalar" in dict(step.attrs)


def _broadcasts(program: Program) -> bool:
    """Whether one op of a program, and only one, broadcasts its operands, and no other op changes a shape but to that
    of a number.
    """
    if program.stateful or program.modes:
        return False
    shapes = {ref: np.shape(value) for ref, value in Reference(program).values.items()}
    several = []
    for at, step in enumerate(program):
        if not isinstance(step, Apply):
            continue
        given, made = [shapes[ref] for ref in step.args], shapes[Ref(at)]
        if len({*given}) > 1:
            several.append(_is_broadcast(given, made))
        elif made not in (*given, ()):
            return False
    return several == [True]


def _is_broadcast(given: Sequence[Shape], made: Shape) -> bool:
    """Whether operands of these shapes are broadcast to the shape of the result."""
    try:
        return np.broadcast_shapes(*given) == made
    except ValueError:
        return False


def _drops_dimension(program: Program, op: str) -> bool:
    """Whether an op reduces some, but not all, dimensions of a leaf, and drops these dimensions."""
    for step in program:
        if isinstance(step, Apply) and step.op == op and isinstance(leaf := program[step.args[0].at], Leaf):
            match dict(step.attrs):
                case {"keepdim": False, "dim": int()}:
                    return len(leaf.value.shape) > 1
                case {"keepdim": False, "dim": tuple(dims)}:
                    return 0 < len(dims) < len(leaf.value.shape)
                case _:
                    pass
    return False


def ending_meaning(program: Program, op: str | None) -> str | None:
    """Returns what the end of the process in an op means, if the op is alone in its program; otherwise None."""
    used = {step.op for step in program if isinstance(step, (Apply, InPlace))}
    is_alone = op is not None and used == {op}
    return EMPTY if is_alone and any(0 in shape for shape in _shapes(program, len(program) - 1, op or "")) else None


def number_meaning(error: ErrorSize | None) -> str | None:
    """Returns `SINGLE` if rounding in float32 explains the error of a number in float64; otherwise None."""
    if error is None or error.digits is None or error.of != 16:
        return None
    low, high = SINGLE_DIGITS
    return SINGLE if low <= error.digits <= high and error.units <= FEWER_ROUNDINGS else None


def shape_meaning(got: Shape, want: Shape) -> str | None:
    """Returns `EMPTY` if a result or a gradient that must have no elements has some; None otherwise."""
    return EMPTY if 0 in want and 0 not in got else None


def gradient_meaning(got: Shape, want: Shape) -> str | None:
    """Returns what the shape of a gradient means: `EMPTY`, or `BROADCAST` if the expected shape is broadcast to it and
    has another number of elements; None otherwise.
    """
    fits = len(got) >= len(want) and all(w in (g, 1) for g, w in zip(reversed(got), reversed(want), strict=False))
    return BROADCAST if fits and prod(got) != prod(want) else shape_meaning(got, want)


def write_meaning(program: Program, at: int, got: np.ndarray | None) -> str | None:
    """Returns `UNCHANGED` if an instruction that writes left the value that its target had; None if it did not, or if
    that value depends on what the framework did.
    """
    step, earlier = program[at], Program(program.instructions[:at])
    if not isinstance(step, InPlace) or got is None or program.modes or earlier.stateful:
        return None
    before = Reference(earlier).values[step.target]
    return UNCHANGED if np.array_equal(got, before.astype(got.dtype)) else None


def _shapes(program: Program, at: int, op: str) -> Iterator[Shape]:
    """Yields the shapes of the operands of an op until an instruction, as far as they are leaves, the first operand
    first, and then those of the instruction's cotangents.
    """
    for step in program.instructions[: at + 1]:
        if isinstance(step, (Apply, InPlace)) and step.op == op:
            refs = step.args if isinstance(step, Apply) else (step.target, *step.args)
            yield from (made.value.shape for ref in refs if isinstance(made := program[ref.at], Leaf))
    step = program[at]
    if isinstance(step, (Backward, Grad)):
        yield from (each.shape for each in step.cotangents if each is not None)
