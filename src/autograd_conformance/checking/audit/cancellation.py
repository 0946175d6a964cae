"""Programs of ops on numbers that are close together and far from zero."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from autograd_conformance.checking.audit.programs import sample
from autograd_conformance.ops.catalogue import LONG
from autograd_conformance.ops.rows.row import Op
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.dtypes import COARSE
from autograd_conformance.programs.language import Apply, BackwardCall, Instruction, Leaf, Literal, Program, Ref
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.domains import is_smooth
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reference.staging.derivatives import array
from autograd_conformance.rules.judge.checks.cancellation import is_close, may_cancel
from autograd_conformance.rules.judge.checks.elements import ELEMENTWISE
from autograd_conformance.rules.judge.checks.lone_ops import is_lone_op

CENTRES = {"float32": 4096.0, "float64": 2.0**20}
"""The number that is added to those of an operand, which are mostly multiples of 1/8 from -4 to 4: half of the dtype's
digits, so that a difference of squares has none.
"""

ILL_CONDITIONED = ("linalg", "decompositions")
"""Families of ops on matrices, which are nearly singular if their elements are nearly equal."""

OVERFLOWING = ("soft_margin_loss", "multilabel_soft_margin_loss")
"""Ops that have an infinite result on such numbers."""

SAMPLES = 2
"""Number of programs of an op in each dtype; in every second one, the cotangents are close together, too."""

DRAWS = 8
"""Largest number of draws for the programs of an op in one dtype."""


@lru_cache(maxsize=1)
def functions() -> tuple[str, ...]:
    """Returns the ops that compute with several elements at once, and are smooth and well-conditioned on such
    numbers.
    """
    return tuple(
        op
        for op, row in OPS.items()
        if row.family not in (*ELEMENTWISE, *ILL_CONDITIONED, *LONG)
        and op not in OVERFLOWING
        and row.dtype is None
        and _is_anywhere(row)
    )


def programs(op: str, dtypes: Sequence[str]) -> Iterator[Program]:
    """Yields up to `SAMPLES` programs of an op in each dtype, where the op is smooth on such numbers."""
    for dtype in dtypes:
        found = 0
        for seed in range(DRAWS if dtype not in COARSE else 0):
            drawn = sample(op, seed, dtype)
            if drawn is None or not is_lone_op(drawn):
                continue
            program = _moved(drawn, CENTRES[dtype], found % 2 == 1)
            if may_cancel(program) and _is_smooth(program):
                found += 1
                yield program
            if found == SAMPLES:
                break


def plain(program: Program) -> Program:
    """Returns a program of `programs` with its numbers around zero."""
    *leaves, apply, call = program.instructions
    assert isinstance(call, BackwardCall)
    cotangents = tuple(given and _back(given) for given in call.cotangents)
    operands = (replace(leaf, value=_back(leaf.value)) for leaf in leaves if isinstance(leaf, Leaf))
    return Program((*operands, apply, replace(call, cotangents=cotangents)))


def _is_anywhere(row: Op) -> bool:
    """Whether the domain of an op's first operand has room for such numbers."""
    return any(row.domain(0).is_smooth(np.full((2, 2), number) + np.diag([0.0, 2.0])) for number in CENTRES.values())


def _moved(program: Program, centre: float, behind: bool) -> Program:
    """Returns a program whose operands of more than one element are around `centre`, if they may be there and leave
    the results finite, and so are the cotangents if `behind`.
    """
    *leaves, apply, call = program.instructions
    assert isinstance(apply, Apply) and isinstance(call, BackwardCall)
    row = OPS[apply.op]

    def operand(leaf: Instruction, place: int) -> Instruction:
        if not isinstance(leaf, Leaf):
            return leaf
        moved = replace(leaf, value=_around(leaf.value, centre))
        beside = (*leaves[:place], moved, *leaves[place + 1 :], apply)
        fits = row.domain(place).is_smooth(array(moved.value)) and _is_finite(Program(beside))
        return moved if fits else leaf

    cotangents = tuple(given and _around(given, centre) for given in call.cotangents)
    operands = (operand(leaf, place) for place, leaf in enumerate(leaves))
    return Program((*operands, apply, replace(call, cotangents=cotangents) if behind else call))


def _around(literal: Literal, centre: float) -> Literal:
    numbers = (np.asarray(literal.data) + centre).astype(literal.dtype)
    return replace(literal, data=tuple(numbers.tolist())) if len(literal.data) > 1 else literal


def _back(literal: Literal) -> Literal:
    return _around(literal, -CENTRES[literal.dtype]) if is_close(literal) else literal


def _is_smooth(program: Program) -> bool:
    *leaves, apply, _ = program.instructions
    return is_smooth(apply, {Ref(at): array(leaf.value) for at, leaf in enumerate(leaves) if isinstance(leaf, Leaf)})


def _is_finite(program: Program) -> bool:
    """Whether every value is finite. Beyond an infinite one, forward mode multiplies infinity by a tangent of zero."""
    return all(np.isfinite(value).all() for value in Reference(program).values.values())
