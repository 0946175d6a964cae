"""Programs of functions of one number in their tails: large and small operands, and operands near the ends of the
domain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.dtypes import DTYPES
from autograd_conformance.programs.language import (
    Apply,
    Backward,
    BackwardCall,
    Grad,
    Instruction,
    Leaf,
    Literal,
    Program,
    Ref,
)
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.exact import FIRST, derivative
from autograd_conformance.strategies.building.alphabet import Alphabet

FUNCTIONS = tuple(FIRST)
"""The ops that are functions of one number, whose derivatives are known exactly."""

SIZES = (1e-30, 1e-20, 1e-10, 1e-5, 10.0, 12.0, 16.0, 20.0, 30.0, 40.0, 60.0, 80.0)
POINTS = (*SIZES, *(-size for size in SIZES), 0.0, 1 + 1e-5, 1 - 1e-5, -1 + 1e-5)
"""The operands, as far as they are in a function's domain and its derivative there is an ordinary number."""


def programs(op: str, dtypes: Sequence[str], alphabet: Alphabet) -> Iterator[Program]:
    """Yields two programs for each dtype and for the first and, if the framework has functional calls that create
    graphs, the second derivative of a function of one number: one on the numbers that are in the op's domain, where the
    other rules about gradients are judged as well, and one on those that are not.
    """
    orders = (1, 2) if alphabet.can(Capability.FUNCTIONAL, Capability.CREATE_GRAPH) else (1,)
    domain = alphabet.row(op).domain(0)
    for dtype, order in product(dtypes, orders):
        ordinary = [number for number in _rounded(dtype) if _is_ordinary(op, number, order, dtype)]
        for inside in (True, False):
            numbers = tuple(each for each in ordinary if domain.holds(np.array([each], dtype)) == inside)
            if numbers:
                yield Program(tuple(_steps(op, Literal(numbers, (len(numbers),), dtype), order, alphabet)))


def _rounded(dtype: str) -> Iterator[float]:
    """Yields the operands, rounded to a dtype."""
    yield from (float(np.asarray(number, dtype)) for number in POINTS)


def _is_ordinary(op: str, number: float, order: int, dtype: str) -> bool:
    """Whether a derivative at a number, and those up to it, are finite, and it is not too small for the dtype."""
    found = [derivative(op, number, each) for each in range(1, order + 2)]
    largest, smallest = DTYPES[dtype].largest / 4, 4 * DTYPES[dtype].tiny
    return all(abs(each) < largest for each in found) and abs(found[order - 1]) > smallest


def _steps(op: str, operand: Literal, order: int, alphabet: Alphabet) -> Iterator[Instruction]:
    ones = Literal((1.0,) * len(operand.data), operand.shape, operand.dtype)
    yield Leaf(operand)
    yield Apply(op, (Ref(0),), ())
    if order == 2:
        yield _functional_call(Ref(1), (Ref(0),), ones, alphabet, create_graph=True)
    yield last_call(Ref(order), (Ref(0),), ones, alphabet)


def last_call(root: Ref, operands: tuple[Ref, ...], cotangent: Literal, alphabet: Alphabet) -> BackwardCall:
    """Returns a call that leaves the gradients of the operands in them, or else returns the gradients, as the framework
    can.
    """
    if alphabet.can(Capability.IMPERATIVE):
        return Backward((root,), (cotangent,))
    return _functional_call(root, operands, cotangent, alphabet)


def _functional_call(
    root: Ref, operands: tuple[Ref, ...], cotangent: Literal, alphabet: Alphabet, create_graph: bool = False
) -> Grad:
    zeros = not alphabet.can(Capability.UNUSED)
    return Grad((root,), operands, (cotangent,), create_graph=create_graph, materialize_grads=zeros)


def single(program: Program) -> Iterator[Program]:
    """Yields a program for each number of a program of `programs`."""
    leaf, *rest = program.instructions
    assert isinstance(leaf, Leaf)
    for number in leaf.value.data:
        one = Literal((number,), (1,), leaf.value.dtype)
        ones = Literal((1.0,), (1,), leaf.value.dtype)
        calls = [replace(step, cotangents=(ones,)) if isinstance(step, BackwardCall) else step for step in rest]
        yield Program((replace(leaf, value=one), *calls))
