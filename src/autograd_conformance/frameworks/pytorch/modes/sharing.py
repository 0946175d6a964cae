"""Determines which values of a program may share memory, before the program runs."""

from __future__ import annotations

from collections.abc import Sequence

from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.ops.rows.row import Certainty
from autograd_conformance.programs.language import Apply, Detach, InPlace, Instruction, Program, Ref
from autograd_conformance.programs.operands import operands


def is_repeatable(program: Program, at: int, run: Sequence[int]) -> bool:
    """Whether an instruction gives the same result when its region (one checkpointed function) runs again: it writes to
    no value from outside the region.
    """
    step = program[at]
    return not isinstance(step, InPlace) or owner(program, step.target).at in run


def owner(program: Program, ref: Ref) -> Ref:
    """Returns the value whose memory another value may share: the first in the chain of ops and detaches that may have
    made the other one as a view.
    """
    step = program[ref.at]
    return owner(program, operands(step)[0]) if may_be_view(step) else ref


def may_be_view(step: Instruction) -> bool:
    """Whether the result of an instruction may share memory with its first operand."""
    match step:
        case Detach():
            return True
        case Apply(op, args):
            return bool(args) and row_of(op).aliases is not Certainty.NEVER
        case _:
            return False
